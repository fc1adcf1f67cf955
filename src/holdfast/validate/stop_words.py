"""The commonest small words of languages written in Latin letters: few texts of some length do without them."""

STOP_WORDS: dict[str, frozenset[str]] = {
    language: frozenset(words.split())
    for language, words in {
        "en": "the of and to in is that for it was on with as are be this by at from have not or which an they",
        "de": "der die und das ist nicht ein eine zu den von mit sich auf für dem des im auch als werden wird oder bei",
        "fr": "le la les des et est une dans que pour qui pas sur au avec ce il par du ne sont plus aux mais ou",
        "es": "el la los las de que y en un una por con no para se del es al como más su lo pero sus este",
        "it": "il di che la e è un una per non in sono con del della le si da come gli ma più anche nel alla",
        "pt": "o a os as de que e do da em um uma para com não por no na se mais dos das ao como foi são",
        "nl": "de het een en van is dat niet op te in zijn voor met die er aan ook als maar bij naar om worden dit",
        "sv": "och att det som en är på för med av till den har inte ett om men var jag från så kan när eller",
        "da": "og at det som en er på for med af til den har ikke et om men var jeg fra så kan når eller blev hvad",
        "no": "og at det som en er på for med av til den har ikke et om men var jeg fra så kan når eller ble hva",
        "fi": "ja on ei se että oli hän joka mutta ovat kun niin myös tai kuin mitä sen jos nyt ole vain tämä",
        "pl": "i w nie na się z że do to jest o jak za po co od ale przez jego są tego dla który oraz być",
        "cs": "a je v se na že to s z do o jako pro by ale jsou který i za podle jeho už nebo tak bylo",
        "hu": "a az és hogy nem is egy ez meg volt de csak már van mint el még ha azt vagy pedig lesz után",
        "ro": "și de în la cu nu pe că este un o din care pentru mai sau ce au fost prin dar sunt acest dintre",
        "tr": "ve bir bu da de için ile çok olarak daha gibi kadar sonra ama olan en var ne o ki ya değil her",
    }.items()
}
