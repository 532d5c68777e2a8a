"""Languages of translation tasks: names of codes, pairs such as `en-de`, and the locales of WMT24++."""

import re
from collections.abc import Mapping

from multigraft.errors import InputError, UnknownNameError

_PAIR = re.compile(r"([a-z]{2,3})(?:_[A-Z]{2})?-([a-z]{2,3})(?:_[A-Z]{2})?")

NAMES: Mapping[str, str] = {
    "ar": "Arabic", "bg": "Bulgarian", "bn": "Bengali", "bs": "Bosnian", "ca": "Catalan", "cs": "Czech", "cy": "Welsh", "da": "Danish", "de": "German",
    "el": "Greek", "en": "English", "es": "Spanish", "et": "Estonian", "eu": "Basque", "fa": "Persian", "fi": "Finnish", "fil": "Filipino", "fr": "French",
    "ga": "Irish", "gl": "Galician", "gu": "Gujarati", "ha": "Hausa", "he": "Hebrew", "hi": "Hindi", "hr": "Croatian", "hu": "Hungarian", "hy": "Armenian",
    "id": "Indonesian", "is": "Icelandic", "it": "Italian", "iu": "Inuktitut", "ja": "Japanese", "ka": "Georgian", "kk": "Kazakh", "km": "Khmer",
    "kn": "Kannada", "ko": "Korean", "liv": "Livonian", "lt": "Lithuanian", "lv": "Latvian", "mk": "Macedonian", "ml": "Malayalam", "mr": "Marathi",
    "ms": "Malay", "nb": "Norwegian", "ne": "Nepali", "nl": "Dutch", "no": "Norwegian", "pa": "Punjabi", "pl": "Polish", "ps": "Pashto",
    "pt": "Portuguese", "ro": "Romanian", "ru": "Russian", "sah": "Yakut", "sk": "Slovak", "sl": "Slovenian", "sq": "Albanian", "sr": "Serbian",
    "sv": "Swedish", "sw": "Swahili", "ta": "Tamil", "te": "Telugu", "th": "Thai", "tr": "Turkish", "uk": "Ukrainian", "ur": "Urdu", "vi": "Vietnamese",
    "xh": "Xhosa", "yo": "Yoruba", "zh": "Chinese", "zu": "Zulu",
}  # fmt: skip
"""In English, by ISO 639 code."""

_LOCALES: Mapping[str, str] = {
    "ar": "EG", "bg": "BG", "bn": "IN", "ca": "ES", "cs": "CZ", "da": "DK", "de": "DE", "el": "GR", "es": "MX", "et": "EE", "fa": "IR", "fi": "FI",
    "fil": "PH", "fr": "FR", "gu": "IN", "he": "IL", "hi": "IN", "hr": "HR", "hu": "HU", "id": "ID", "is": "IS", "it": "IT", "ja": "JP", "kn": "IN",
    "ko": "KR", "lt": "LT", "lv": "LV", "ml": "IN", "mr": "IN", "nl": "NL", "no": "NO", "pa": "IN", "pl": "PL", "pt": "BR", "ro": "RO", "ru": "RU",
    "sk": "SK", "sl": "SI", "sr": "RS", "sv": "SE", "sw": "KE", "ta": "IN", "te": "IN", "th": "TH", "tr": "TR", "uk": "UA", "ur": "PK", "vi": "VN",
    "zh": "CN", "zu": "ZA",
}  # fmt: skip


def sides(pair: str) -> tuple[str, str]:
    """Read a pair: the codes of the languages it translates from and into.

    Args:
        pair: such as `en-de` or `en-de_DE`.

    Raises:
        InputError: it is none.
    """
    match = _PAIR.fullmatch(pair)
    if match is None:
        message = f"'{pair}' is no language pair; write it as en-de"
        raise InputError(message, field="pair")
    return match[1], match[2]


def language_name(code: str) -> str:
    """Return the English name of a language.

    Raises:
        UnknownNameError: the code is not known.
    """
    if code not in NAMES:
        what = "language"
        raise UnknownNameError(what, code, NAMES)
    return NAMES[code]


def locale_pair(pair: str) -> str:
    """Return a pair as WMT24++ names it, whose sources are all English.

    Args:
        pair: such as `en-de`, or `en-pt_PT` to choose among several locales of a language.

    Raises:
        InputError: WMT24++ has no such pair.
    """
    source, target = sides(pair)
    if "_" in pair:
        return pair
    if source != "en" or target not in _LOCALES:
        message = f"WMT24++ translates from English into {', '.join(_LOCALES)}; take another year, or give the items of '{pair}' as a file"
        raise InputError(message, field="pair")
    return f"{pair}_{_LOCALES[target]}"
