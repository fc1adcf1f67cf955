"""Words that names and phrases are told by. English, with the small words of its neighbours."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


CONNECTORS = ("of", "of the", "de", "de la", "del", "della", "di", "da", "du", "van", "van der", "von", "von der", "&")

ORGANISATION_ENDINGS = _words("""
    ag association bank bv cie co college committee company corp corporation council foundation gmbh group holdings
    inc institute kg limited llc llp ltd ministry nv plc sa school se society spa srl trust union university
""")
ORGANISATION_BEGINNINGS = _words("agency association bank department institute ministry university")

# What carries no meaning of its own, in English and in languages beside it; there such words also begin names.
SMALL_WORDS = _words("""
    a about above across after again against all alone also although am among an and any anyone anything are around as
    at be because been before behind being below beneath beside besides between beyond both but by can cannot could
    despite did do does doing down during each either else ever every everybody everyone everything except few for
    from further had has have having he hello hence her here hers herself him himself his how however i if in inside
    instead into is it its itself just least less let like many may me might mine more moreover most much must my
    myself near neither never nevertheless no nobody none nor not nothing now of off often on once one only onto or
    other others otherwise our ours out outside over own per perhaps please quite rather really same shall she should
    since so some somebody someone something sometimes soon still such than that the their theirs them themselves then
    there therefore these they this those though through throughout thus to today together tomorrow too toward towards
    twice under unless until up upon us very via was we well were what whatever when whenever where wherever whether
    which while who whoever whom whose why will with within without would yes yesterday yet you your yours yourself
""")
OTHER_SMALL_WORDS = _words("""
    al als am auch auf aus aux avec bei ce ces che con dans das dem den der des die du durch een ein eine einem einen
    einer el elle en es est et für gli het il ils ist je la las le les lo los mit nach nicht niet non nous nur oder op
    par para pas por pour que qui sein sich sie sind sont su sul sur una und une uno van vom von vous wird wir zu zum
    zur
""")

# Verbs of every day: they stand beside what is spoken of, and open sentences with a capital that makes no name.
_VERBS = """
    accept add agree allow answer apply arrive ask attach become begin believe belong bring build buy call carry cause
    change check choose clean click close collect come complete confirm consider contact contain continue cost count
    create cut decide deliver depend describe develop download email end ensure enter expect explain fail fall feel
    fill find fit follow forget get give go hang happen hear help hold include increase inform install keep know last
    lay lead learn leave lie listen live look lose make mean measure meet mention move need notice offer open order
    pay perform pick place play prepare prevent produce prove provide pull push put reach read receive reduce remain
    remember remove repeat replace reply report require return run say see seem sell send serve set show sign sit
    sleep smoke speak spend stand start state stay stop store suggest take talk tell thank think throw touch travel
    treat try turn understand use visit wait walk want warn wash watch wear welcome win wish work write
"""
_FORMS_OF_VERBS = """
    became began begun bought brought built came chose chosen done drawn drew fallen fell felt flew found gave given
    gone got gotten grew grown heard held hung kept knew known laid lain lay led left lent lost made meant met paid
    ran rang read risen rose said sang sat saw seen sent shown shut sold sought spent spoke spoken stood sung taken
    taught thought threw thrown told took understood went woke won wore worn written wrote goes does has tries carries
    applies
"""
# Numbers and words that describe anything: what they stand before is spoken of just as well without them.
_DESCRIBING = """
    two three four five six seven eight nine ten eleven twelve fifteen sixteen twenty thirty forty fifty sixty hundred
    thousand million billion half quarter dozen first second third fourth fifth next previous last former latter new
    old good bad better best worse worst big small large little great long short high low early late whole full free
    able available different several certain various main important possible general particular usual common real
    right wrong aloud ago almost already always away back enough especially even exactly far finally forward generally
    however immediately maybe mostly particularly probably quickly recently simply slowly therefore usually day days
    hour hours metre metres meter meters millimetre millimetres minute minutes month months second seconds week weeks
    year years o'clock morning afternoon evening night time times lot lots thing things way ways kind sort
"""


def _forms(verb: str) -> tuple[str, ...]:
    stem = verb.removesuffix("e")
    return verb, f"{verb}s", f"{verb}es", f"{stem}ed", f"{stem}ing", f"{verb}{verb[-1]}ed", f"{verb}{verb[-1]}ing"


PLAIN_WORDS = _words(_FORMS_OF_VERBS) | _words(_DESCRIBING) | {form for verb in _VERBS.split() for form in _forms(verb)}

# Capitals that name no thing: days, months, currencies, units.
CAPITAL_WORDS = _words("""
    monday tuesday wednesday thursday friday saturday sunday january february march april may june july august
    september october november december jan feb mar apr jun jul aug sep sept oct nov dec eur usd gbp chf utc gmt
""")
