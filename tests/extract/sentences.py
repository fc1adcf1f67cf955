"""What people write in some languages, with letters beyond ASCII."""

SENTENCES = {
    "French": "L'été dernier, les élèves ont préparé un déjeuner à l'école, où le maître les attendait.\n",
    "German": "Die Straße führt über die Brücke; schöne Grüße aus München, und wäre es möglich?\n",
    "Russian": "Договор вступает в силу после подписания. Протокол составлен в двух экземплярах.\n",
    "Polish": "Umowa wchodzi w życie z dniem podpisania; proszę przesłać źródła do końca następnego tygodnia.\n",
    "Turkish": "Sözleşme imza tarihinden itibaren geçerlidir, şirketimiz teşekkür eder, görüşmek üzere.\n",
    "Greek": "Σήμερα υπογράφηκε σύμβαση μεταξύ των εταιρειών. Θα σταλούν πρακτικά στους μετόχους.\n",
    "Japanese": "この契約は署名の日から有効です。会議の議事録は来週送付されます。\n",
    "Chinese": "本合同自双方签字之日起生效。会议记录将于下周发送给大家。\n",
    "Korean": "이 계약은 서명한 날부터 효력이 발생합니다. 회의록은 다음 주에 발송됩니다.\n",
}
