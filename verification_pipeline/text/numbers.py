"""Typed numbers of a text: value, unit, currency, percent, sign, scale, ranges, years, number words, exact places.

Values are exact decimals in the base unit of their dimension: 0.50 = 0.5, 1.2M = 1.2 million = 1,200,000, 1 km =
1,000 m. A number is never cut out of a name (COVID-19, H1N1), an address or a DOI. What belongs elsewhere: what a
number is about (`triage`), the digits of markers and list numbers (callers blank them).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from decimal import Decimal
from functools import lru_cache
from typing import Literal, NamedTuple

Kind = Literal["number", "year", "ordinal", "date", "time", "ratio"]
Part = Literal["", "low", "high"]


class Number(NamedTuple):
    """One number of a text: `text` is exactly text[start:end], with its sign, currency, scale word and unit.

    `unit` is "" for a bare number, "%" for per cent, "pp" for percentage points, a sign for a currency, else the base
    unit of a dimension. `other` is the second reading of a form that locales read differently (1.000). `part` says
    which end of a range it is. Dates, times and ratios are compared by `key`, and their value is 0.
    """

    start: int
    end: int
    text: str
    value: Decimal
    unit: str = ""
    kind: Kind = "number"
    part: Part = ""
    other: Decimal | None = None
    key: str = ""

    def same_quantity(self, other: Number) -> bool:
        """Whether both say one quantity: value, unit, currency, sign, kind and end of range."""
        if self.unit != other.unit or self.part != other.part or self.key != other.key:
            return False
        if self.kind != other.kind and not {self.kind, other.kind} <= {"number", "year"}:
            return False
        if self.value == other.value:
            return True
        mine = {self.value, self.other} - {None}
        return not mine.isdisjoint({other.value, other.other} - {None})


def _words(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


def _ranked(listed: str, first: int = 0, step: int = 1) -> dict[str, int]:
    """Words with their values: groups of equal words between `|`, in steps from the first."""
    return {word: first + step * rank for rank, words in enumerate(listed.split("|")) for word in words.split()}


def _table(lines: str) -> Iterator[tuple[str, str, list[str]]]:
    """Rows `name factor word; word; …` of a unit table."""
    for line in lines.strip().splitlines():
        name, factor, words = line.split(None, 2)
        yield name, factor, [word.strip() for word in words.split(";")]


_SCALES = {
    word: Decimal(factor)
    for _, factor, words in _table(
        """
        dozen 12 dozen
        hundred 1e2 hundred; hundert; 百
        thousand 1e3 thousand; thousands; k; tausend; tsd; mille; mil; тыс; тысяч; тысячи; 千; χιλιάδες
        myriad 1e4 万; 萬; 만
        lakh 1e5 lakh; lakhs
        million 1e6 million; millions; m; mm; mn; mln; mio; millionen; millón; millones; milhões; milioni; miljoen; млн\
; миллион; миллиона; миллионов; 百万; εκατομμύρια; εκατ
        crore 1e7 crore; crores
        yi 1e8 亿; 億; 억
        billion 1e9 billion; billions; b; bn; mrd; md; milliarde; milliarden; milliard; milliards; miliardi\
; miljard; млрд; миллиард; миллиарда; миллиардов; 十亿; δισεκατομμύρια; δισ
        trillion 1e12 trillion; trillions; t; tn; trn; billionen; трлн; 万亿
        """
    )
    for word in words
}
_CURRENCIES = {
    word: name
    for name, _, words in _table(
        """
        $ 1 $; us$; usd; dollar; dollars; us dollars; 美元; долларов
        € 1 €; eur; euro; euros; 欧元; евро; ευρώ
        £ 1 £; gbp; pounds sterling; 英镑
        ¥ 1 ¥; jpy; yen; 日元; 円
        CNY 1 cny; rmb; yuan; 人民币; 元
        ₹ 1 ₹; inr; rupees
        CHF 1 chf; franken
        ₽ 1 ₽; rub; рублей; руб
        ₩ 1 ₩; krw; won
        A$ 1 a$; aud
        C$ 1 c$; cad
        kr 1 kr; sek; nok; dkk
        """
    )
    for word in words
}
_UNITS = {
    word: (name, Decimal(factor))
    for name, factor, words in _table(
        """
        % 1 %; ％; ٪; percent; per cent; pct; prozent; pourcent; pour cent; por ciento; procent; процент; процента\
; процентов; τοις εκατό
        pp 1 percentage point; percentage points; pp; prozentpunkte; prozentpunkten; 百分点
        ‰ 1 ‰
        W 1 W; watt; watts
        W 1e-3 mW
        W 1e3 kW; kilowatt; kilowatts
        W 1e6 MW; megawatt; megawatts
        W 1e9 GW; gigawatt; gigawatts
        W 1e12 TW; terawatt; terawatts
        Wh 1 Wh
        Wh 1e3 kWh; kilowatt-hours; kilowatt hours
        Wh 1e6 MWh; megawatt-hours; megawatt hours
        Wh 1e9 GWh; gigawatt-hours; gigawatt hours
        Wh 1e12 TWh; terawatt-hours; terawatt hours
        kg 1e-9 µg; μg; mcg; microgram; micrograms
        kg 1e-6 mg; milligram; milligrams
        kg 1e-3 g; gram; grams; gramm
        kg 1 kg; kilogram; kilograms; kilogramm; kilos
        kg 1e3 t; tonne; tonnes; tonnen; metric tons
        ton 1 ton; tons
        lb 1 lb; lbs
        oz 1 oz; ounce; ounces
        m 1e-9 nm; nanometre; nanometres; nanometer; nanometers
        m 1e-6 µm; μm; micron; microns; micrometre; micrometres; micrometer; micrometers
        m 1e-3 mm; millimetre; millimetres; millimeter; millimeters
        m 1e-2 cm; centimetre; centimetres; centimeter; centimeters
        m 1 m; metre; metres; meter; meters; metern; 米
        m 1e3 km; kilometre; kilometres; kilometer; kilometers; kilometern; 公里; км
        mi 1 mi; mile; miles; meilen
        ft 1 ft; foot; feet
        in 1 inch; inches
        yd 1 yd; yard; yards
        m2 1 m²; m2; sqm; square metres; square meters
        m2 1e6 km²; km2; square kilometres; square kilometers
        ha 1 ha; hectare; hectares; hektar
        acre 1 acre; acres
        m3 1 m³; m3; cubic metres; cubic meters
        l 1e-3 ml; mL; millilitre; millilitres; milliliter; milliliters
        l 1 l; L; litre; litres; liter; liters; litern
        s 1e-9 ns; nanosecond; nanoseconds
        s 1e-6 µs; μs; microsecond; microseconds
        s 1e-3 ms; msec; millisecond; milliseconds
        s 1 s; sec; secs; second; seconds; sekunden
        s 60 min; mins; minute; minutes; minuten
        s 3600 h; hr; hrs; hour; hours; stunden
        day 1 day; days; tage; tagen; jours; días; 天
        day 7 week; weeks; wochen; semaines
        month 1 month; months; monate; monaten; mois; meses
        year 1 year; years; yr; yrs; jahre; jahren
        °C 1 °C; ℃
        °F 1 °F; ℉
        ° 1 °; degree; degrees; grad
        Hz 1 Hz
        Hz 1e3 kHz
        Hz 1e6 MHz
        Hz 1e9 GHz
        V 1 V; volt; volts
        V 1e3 kV
        A 1 ampere; amperes; amps
        Pa 1 Pa
        Pa 1e3 kPa
        Pa 1e6 MPa
        J 1 joule; joules
        J 1e3 kJ
        J 1e6 MJ
        cal 1e3 kcal
        B 1e3 kB; KB; kilobytes
        B 1e6 MB; megabytes
        B 1e9 GB; gigabytes
        B 1e12 TB; terabytes
        m/s 1 m/s
        km/h 1 km/h; kph
        mi/h 1 mph
        kn 1 knot; knots
        dB 1 dB
        mol 1e-3 mmol
        ppm 1 ppm
        x 1 x; ×; -fold; fold; times
        """
    )
    for word in words
}
_FOLDED_UNITS = {word.casefold(): unit for word, unit in reversed(_UNITS.items())}
_WORD_VALUES = _ranked(
    "zero|one eins|two zwei deux|three drei trois tres|four vier quatre cuatro|five fünf cinq cinco|six sechs seis"
    "|seven sieben siete|eight acht huit ocho|nine neun neuf nueve|ten zehn dix diez|eleven onze"
    "|twelve zwölf douze doce|thirteen dreizehn treize trece|fourteen vierzehn quatorze catorce"
    "|fifteen fünfzehn quinze quince|sixteen sechzehn|seventeen siebzehn|eighteen achtzehn|nineteen neunzehn"
)
_TENS = _ranked(
    "twenty zwanzig vingt veinte|thirty dreißig trente treinta|forty vierzig quarante cuarenta|fifty fünfzig cinquante"
    " cincuenta|sixty sechzig soixante sesenta|seventy siebzig setenta|eighty achtzig ochenta|ninety neunzig noventa",
    20,
    10,
)
_WORD_SCALES = {"hundred": 100, "thousand": 1_000, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_PLURAL_SCALES = {"dozen": 12, "hundert": 100, "tausend": 1_000, "millionen": 10**6, "milliarden": 10**9}
_WORD_LIKE = {**_WORD_VALUES, **_TENS, **_WORD_SCALES, **_PLURAL_SCALES}
NUMBER_WORDS = frozenset(_WORD_LIKE)
ONE = "one"
_ALONE = frozenset((ONE, *_WORD_SCALES, "millionen", "milliarden"))
"""Alone these are no numbers: `one` is a pronoun or an article, a scale goes with the digits before it."""

_COMMA_DECIMALS = _words(
    "de fr es it pt nl ru uk pl cs sk sl hr sr bg el da sv nb nn no fi et lv lt hu ro tr id vi ca gl eu"
)
_SPACES = " \u00a0\u202f\u2009"
_DIGITS = re.compile(  # begins with one set of signs: so the scan skips what cannot begin a match
    r"[.\d](?:(?<=\d)\d*+|(?<=\.)(?<![\w.)\]]\.)\d++)"
    rf"(?:(?:[.,:'’/٫٬]|[{_SPACES}](?=\d{{3}}(?!\d)))\d++)*"
)
_ASCII_MARKS = b"-.,;:!?()[]{}\"'/*_~+=<>|#&@^`\\"
_SPACED = bytes.maketrans(_ASCII_MARKS, b" " * len(_ASCII_MARKS))
_OTHER_MARKS = "–—“”‘’„«»…·•"
_ADDRESS = re.compile(r"(?:https?://|www\.|doi:|arxiv:|10\.\d{4,9}/)[^\s<>]+", re.IGNORECASE)
_ADDRESS_PREFIX = re.compile(r":(?:(?<=[Dd]oi:)|(?<=DOI:)|(?<=[Xx]iv:))")
_SIGN = "-−"
_ISO_DATE = re.compile(r"(1\d|20)\d\d-[01]\d-[0-3]\d(?!\d)")
_GROUPED = re.compile(
    rf"\d{{1,3}}(?:,\d{{3}})+(?:\.\d+)?|\d{{1,2}}(?:,\d{{2}})+,\d{{3}}(?:\.\d+)?|\d{{1,3}}(?:\.\d{{3}})+(?:,\d+)?"
    rf"|\d{{1,3}}(?:[{_SPACES}'’]\d{{3}})+(?:[.,]\d+)?"
)
_DECIMAL = re.compile(r"\d+[.,٫]\d+")
_AFTER = re.compile(
    rf"(?P<gap>[{_SPACES}]?-?)(?:(?P<sign>[%％٪‰℃℉×]|°[CFcf]?(?![^\W_])|(?:(?:US|A|C)?\$|[€£¥₹₽₩])(?!\.?\d))"
    r"|(?P<word>[^\W\d_\u2e80-\ud7ff\uf900-\ufaff]++[²³]?(?:2(?![\w.])|3(?![\w.])|/[a-z]{1,3}(?![^\W_]))?))"
)
_SECOND_WORD = re.compile(rf"[{_SPACES}-](?P<word>[^\W\d_]++)")
_FIRST_WORDS = frozenset(word.split()[0] for word in {**_UNITS, **_CURRENCIES} if " " in word)
_PLAIN_WORD = re.compile(r" ([a-zA-Z]+)(?![\w²³/])")
_BEHIND = _FIRST_WORDS | {word.casefold() for word in (*_SCALES, *_UNITS, *_CURRENCIES)}
_PLAIN_UNITS = {
    word: unit
    for word, unit in _UNITS.items()
    if word.casefold() not in {*_SCALES, *_CURRENCIES} and word.casefold() not in _FIRST_WORDS and len(word) > 1
}
_CJK_AFTER = re.compile(
    r"(?P<scale>万亿|百万|十亿|[百千万萬亿億만억])?个?"
    r"(?P<unit>百分点|美元|欧元|英镑|日元|人民币|元|公里|米|天|円)?"
)
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻−", "0123456789--")
_POWER = re.compile(
    rf"(?:(?P<times>[{_SPACES}]?[×x·*][{_SPACES}]?10)|(?<=10))"
    r"(?:(?:\^|\*\*)\{?)?(?P<exponent>(?<=[\^*{])[-−]?\d{1,3}|[⁻]?[⁰¹²³⁴⁵⁶⁷⁸⁹]{1,3})\}?(?!\d)"
)
_TIGHT_SCALES = _words("k K M B T bn mn tn Mio Mrd m")
_LOOSE_SCALES = _words("bn mn mln mio mrd Mio Mrd M tn trn Tsd Md")
_RANGE_DASH = re.compile(rf"[{_SPACES}]?[-–—~～至][{_SPACES}]?")
_RANGE_WORD = re.compile(rf"[{_SPACES}](?:to|through|bis|à|a|до|έως)[{_SPACES}]", re.IGNORECASE)
_RANGE_AND = re.compile(rf"[{_SPACES}](?:and|und|et|y|и|και)[{_SPACES}]", re.IGNORECASE)
_WIDEST_GAP = 12
_BETWEEN = re.compile(r"(?:between|zwischen|entre|между|μεταξύ)\s+(?:about\s+|around\s+)?$", re.IGNORECASE)
_LOWER_PREFIX = re.compile(r"(?<![\w-])(?:mid|pre|post|non|sub|early|late|since|circa|top|ca|about|und|bis|or)-$")
_ORDINAL_TAIL = re.compile(r"(?:st|nd|rd|th|er|re|ème|e|º|ª)(?![^\W_])")
_DECADE_TAIL = re.compile(r"['’]?s(?![^\W_])")


def parse(text: str, language: str | None = None) -> tuple[Number, ...]:
    """Every typed number of a text, in order. `language` (ISO 639-1) says how 1.000 and 1,5 are read."""
    return _parse_short(text, language) if len(text) < _SHORT else _parse(text, language)


@lru_cache(maxsize=4096)
def _parse_short(text: str, language: str | None) -> tuple[Number, ...]:
    return _parse(text, language)


def _parse(text: str, language: str | None) -> tuple[Number, ...]:
    if "10." in text or "://" in text or "www." in text or _ADDRESS_PREFIX.search(text):
        text = _ADDRESS.sub(lambda match: "\x00" * len(match.group()), text)
    numbers: list[Number] = []
    reach, close = 0, False
    for match in _DIGITS.finditer(text):
        start, end = match.span()
        if start < reach:
            continue
        plain = _read_plain(text, start, end, match[0], language)
        read = [plain] if plain else _read_digits(text, match, language)
        if read and read[0].start >= reach:
            close = close or len(read) > 1 or (bool(numbers) and read[0].start <= reach + _WIDEST_GAP)
            numbers += read
            reach = read[-1].end
    spelt = NUMBER_WORDS.intersection(folded_words(text))
    if len(spelt) > 1 or not _ALONE.issuperset(spelt):
        numbers, close = _without_overlaps(sorted([*numbers, *_read_words(text)], key=_start)), True
    return tuple(_with_ranges(text, numbers)) if close and len(numbers) > 1 else tuple(numbers)


def _read_plain(text: str, start: int, end: int, raw: str, language: str | None) -> Number | None:
    """Digits behind a space and before an end mark or a word: most numbers. None where more has to be looked at."""
    if start and (text[start - 1] != " " or text[start - 2] in _ENDS_CURRENCY):
        return None
    read = (Decimal(raw), None) if raw.isdigit() else _value(raw, language)
    if read is None:
        return None
    value, other = read
    following = text[end : end + 1]
    if following == "%":
        return Number(start, end + 1, text[start : end + 1], value, "%", "number", "", other)
    if following not in _ENDS_NUMBER:
        word = _PLAIN_WORD.match(text, end)
        if word is None:
            return None
        written = word[1]
        unit = _PLAIN_UNITS.get(written)
        if unit is not None:
            name, factor = unit
            end = word.end()
            return Number(start, end, text[start:end], value * factor, name, "number", "", other and other * factor)
        if written.casefold() in _BEHIND:
            return None
    year = end - start == 4 and _FIRST_YEAR <= value <= _LAST_YEAR
    return Number(start, end, raw, value, "", "year" if year else "number", "", other)


@lru_cache(maxsize=1024)
def folded_words(text: str) -> tuple[str, ...]:
    """The words of a text in lower case, apart at white space and common punctuation."""
    lowered = text.lower()
    if not lowered.isascii():
        for mark in _OTHER_MARKS:
            lowered = lowered.replace(mark, " ")
    # As bytes: several times faster than `str.translate`.
    return tuple(lowered.encode("utf-8", "surrogatepass").translate(_SPACED).decode("utf-8", "surrogatepass").split())


def _start(number: Number) -> int:
    return number.start


def _without_overlaps(numbers: list[Number]) -> list[Number]:
    kept: list[Number] = []
    for number in numbers:
        if number.text and (not kept or number.start >= kept[-1].end):
            kept.append(number)
    return kept


def _read_digits(text: str, match: re.Match[str], language: str | None) -> list[Number]:
    """The numbers of one run of digits and separators: usually one, several for a list such as 1,2,3."""
    start, end = match.span()
    raw = match[0]
    if start and text[start - 1] not in _NO_NAME and _in_name(text, start):
        return []
    if raw.isdigit():
        if text[end : end + 1] == "-" and len(raw) == 4 and (date := _ISO_DATE.match(text, start)):
            return [Number(start, date.end(), date.group(), _ZERO, kind="date", key=date.group())]
        number = _finished(text, start, end, Decimal(raw), None)
        return [number] if number else []
    if ":" in raw or "/" in raw:
        if ":" in raw and "/" in raw:
            return []
        kind: Kind = "time" if ":" in raw else "ratio"
        return [Number(start, end, raw, _ZERO, kind=kind, key=raw.replace(" ", ""))]
    value = _value(raw, language)
    if value is not None:
        number = _finished(text, start, end, *value)
        return [number] if number else []
    if "." in raw:
        return []
    parts = re.finditer(r"\d+", raw)
    found = (_finished(text, start + p.start(), start + p.end(), Decimal(p.group()), None) for p in parts)
    return [number for number in found if number]


def _in_name(text: str, start: int) -> bool:
    """Whether digits at `start` belong to a word: H1N1, COVID-19, B_2; not mid-2020."""
    before = text[start - 1]
    if before == "_" or before.isalpha():
        if before in _CURRENCY_SIGNS or "\u2e80" <= before <= "\ud7ff":
            return False
        return not (before.isalpha() and _CURRENCY_BEFORE.search(text[max(0, start - 4) : start]))
    if before in "-‑" and start > 1 and (text[start - 2].isalpha()):
        return not _LOWER_PREFIX.search(text[max(0, start - 10) : start].lower()) and not text[start - 2].islower()
    return False


_ZERO = Decimal(0)
_FIRST_YEAR, _LAST_YEAR = Decimal(1000), Decimal(2100)
_SHORT = 2_000
_ENDS_NUMBER = frozenset(("", ".", ",", ";", ":", ")", "]", "!", "?", "\n", '"', "”", "|"))
_NO_NAME = frozenset(" \n($")
_ENDS_CURRENCY = frozenset("$€£¥₹₽₩" + "DRPYBFKCN")
_MAY_SIGN = frozenset((*_SPACES, *_SIGN, *_ENDS_CURRENCY))
_CURRENCY_NAMES = frozenset(_CURRENCIES.values())
_CURRENCY_SIGNS = frozenset("$€£¥₹₽₩")
_CURRENCY_BEFORE = re.compile(
    rf"(?:(?:US|A|C)\$|[$€£¥₹₽₩]|(?<![^\W_])(?:USD|EUR|GBP|JPY|CNY|RMB|INR|CHF|SEK|NOK|DKK|AUD|CAD))[{_SPACES}]?[-−]?$"
)


@lru_cache(maxsize=8192)
def _value(raw: str, language: str | None) -> tuple[Decimal, Decimal | None] | None:
    """The value of a run of digits, with its second reading; None when it is no single number."""
    if raw[0] == ".":
        return (Decimal(f"0{raw}"), None) if raw[1:].isdigit() else None
    if _GROUPED.fullmatch(raw):
        return _grouped(raw, language)
    if _DECIMAL.fullmatch(raw):
        return Decimal(raw.replace(",", ".").replace("٫", ".")), None
    return None


def _grouped(raw: str, language: str | None) -> tuple[Decimal, Decimal | None]:
    """A form with groups of three digits. One group alone is read by locale; 1.000 both ways without one."""
    marks = [character for character in raw if character in ".,"]
    comma_decimals = language in _COMMA_DECIMALS
    if len(marks) == 1 and not any(character in raw for character in _SPACES + "'’"):
        as_group = Decimal(raw.replace(marks[0], ""))
        as_decimal = Decimal(raw.replace(",", "."))
        if (marks[0] == ",") == comma_decimals and language is not None:
            return as_decimal, None
        if marks[0] == ",":
            return as_group, None
        if comma_decimals:
            return as_group, None
        return (as_decimal, as_group) if language is None and raw.endswith("000") else (as_decimal, None)
    bare = raw.translate(dict.fromkeys(map(ord, _SPACES + "'’")))
    last = max(bare.rfind("."), bare.rfind(","))
    tail = len(bare) - last - 1
    mixed = "." in bare and "," in bare
    if last >= 0 and (mixed or (len(marks) == 1 and tail != 3)):
        whole = bare[:last].replace(".", "").replace(",", "")
        return Decimal(f"{whole}.{bare[last + 1 :]}"), None
    return Decimal(bare.replace(".", "").replace(",", "")), None


def _finished(text: str, start: int, end: int, value: Decimal, other: Decimal | None) -> Number | None:
    """A number with what stands around its digits; None when letters stick to it that are no unit (5G, 3b)."""
    first, bare, currency = start, end, ""
    if start and text[start - 1] in _MAY_SIGN and (text[start - 1] != " " or text[start - 2] in _ENDS_CURRENCY):
        first, value, currency = _before(text, start, value)
    year = end - start == 4 and first == start and _FIRST_YEAR <= value <= _LAST_YEAR
    following = text[end : end + 1]
    if following in _ENDS_NUMBER and not currency:
        return Number(first, end, text[first:end], value, "", "year" if year else "number", "", other)
    if year and following in "s'’" and (decade := _DECADE_TAIL.match(text, end)):
        return Number(first, decade.end(), text[first : decade.end()], _ZERO, kind="year", key=f"{value}s")
    if following in " ×x·*^⁰¹²³⁴⁵⁶⁷⁸⁹⁻" and (power := _POWER.match(text, end)):
        exponent = int(power.group("exponent").translate(_SUPERSCRIPTS))
        if abs(exponent) > 30:
            return None
        value = value * Decimal(10) ** exponent if power.group("times") else Decimal(10) ** exponent
        end, year = power.end(), False
    scale, end = _scale_after(text, end, bool(currency))
    if scale is not None:
        value, other = value * scale, other and other * scale
    unit, end = _unit_after(text, end, currency)
    if unit is not None:
        name, factor = unit
        return Number(first, end, text[first:end], value * factor, name, "number", "", other and other * factor)
    if end == bare and following != " ":
        ordinal = _ORDINAL_TAIL.match(text, end)
        if ordinal:
            return Number(first, ordinal.end(), text[first : ordinal.end()], value, kind="ordinal")
        if following == "_" or (following.isalpha() and following < "\u2e80"):
            return None
    kind: Kind = "year" if year and end == bare else "number"
    return Number(first, end, text[first:end], value, currency, kind, "", other)


def _before(text: str, start: int, value: Decimal) -> tuple[int, Decimal, str]:
    """Sign and currency before the digits: where the number begins, its value, its currency."""
    first, currency = start, ""
    found = _CURRENCY_BEFORE.search(text, max(0, start - 5), start)
    if found:
        currency = _CURRENCIES[found.group().strip(_SPACES + _SIGN).casefold()]
        first = found.start()
        value = -value if found.group()[-1] in _SIGN else value
    if first and text[first - 1] in _SIGN and (first == 1 or text[first - 2] in " (\u00a0\n[{,;:"):
        value, first = -value, first - 1
    return first, value, currency


def _scale_after(text: str, end: int, money: bool) -> tuple[Decimal | None, int]:
    """The scale word that follows at `end` (million, bn, k, 亿), and where it ends."""
    following = text[end : end + 1]
    if "\u2e80" <= following <= "\ud7ff":
        match = _CJK_AFTER.match(text, end)
        scale = match.group("scale") if match else None
        return (_SCALES[scale], end + len(scale)) if scale else (None, end)
    after = _AFTER.match(text, end)
    word = after.group("word") if after else None
    if after is None or word is None:
        return None, end
    if after.group("gap"):
        known = word in _LOOSE_SCALES or (len(word) > 2 and word.casefold() in _SCALES)
    else:
        known = (word in _TIGHT_SCALES and (word != "m" or money)) or (len(word) > 2 and word.casefold() in _SCALES)
    if not known:
        return None, end
    stop = after.end()
    if text[stop : stop + 1] == "." and len(word) <= 4 and text[stop + 1 : stop + 2] in _SPACES:
        stop += bool(_AFTER.match(text, stop + 1)) and word not in _TIGHT_SCALES - {"Mio", "Mrd"}
    return _SCALES[word.casefold()], stop


def _unit_after(text: str, end: int, currency: str) -> tuple[tuple[str, Decimal] | None, int]:
    """The unit that follows at `end`, and where it ends; a currency that stood before wins over one behind."""
    following = text[end : end + 1]
    if "\u2e80" <= following <= "\ud7ff":
        match = _CJK_AFTER.match(text, end)
        word = match.group("unit") if match else None
        stop = match.end() if match else end
    else:
        match = _AFTER.match(text, end)
        word = (match.group("sign") or match.group("word")) if match else None
        stop = match.end() if match else end
        if word and word.casefold() in _FIRST_WORDS:
            second = _SECOND_WORD.match(text, stop)
            both = f"{word} {second.group('word')}".casefold() if second else ""
            if second and (both in _FOLDED_UNITS or both in _CURRENCIES):
                word, stop = both, second.end()
        if match and match.group("gap") == "-" and word in ("fold", "Fold"):
            word = "-fold"
    bare = ((currency, Decimal(1)), end) if currency else (None, end)
    if not word:
        return bare
    folded = word.casefold()
    if folded in _CURRENCIES and word not in _UNITS:
        return (currency or _CURRENCIES[folded], Decimal(1)), stop
    if currency:
        return bare
    unit = _UNITS.get(word) or (_FOLDED_UNITS.get(folded) if len(word) > 2 else None)
    return (unit, stop) if unit else (None, end)


_BETWEEN_WORDS = frozenset(_SPACES + "-\n")
_WORD = re.compile(r"[^\W\d_]+")


def _read_words(text: str) -> Iterator[Number]:
    for run in _word_runs(text):
        start, end = run[0].start(), run[-1].end()
        words = [match.group().lower() for match in run]
        joined = "and" in words
        words = [word for word in words if word != "and"]
        value = None if joined and _WORD_SCALES.keys().isdisjoint(words) else _words_value(words)
        if value is None:
            yield from _single_words(text, run)
        elif len(words) > 1 or words[0] not in _ALONE:
            yield _with_unit(text, start, end, Decimal(value))


def _word_runs(text: str) -> Iterator[list[re.Match[str]]]:
    """Number words that follow each other: forty-two, one hundred and five."""
    run: list[re.Match[str]] = []
    for match in _WORD.finditer(text):
        word = match.group().lower()
        listed = word in NUMBER_WORDS
        near = bool(run) and match.start() == run[-1].end() + 1 and text[run[-1].end()] in _BETWEEN_WORDS
        if near and (listed or word == "and"):
            run.append(match)
            continue
        if run:
            yield run[:-1] if run[-1].group().lower() == "and" else run
        run = [match] if listed else []
    if run:
        yield run[:-1] if run[-1].group().lower() == "and" else run


def _single_words(text: str, run: Iterable[re.Match[str]]) -> Iterator[Number]:
    """The words of a run that do not form one number, each by itself: between five and six."""
    for match in run:
        word = match.group().lower()
        value = _words_value([word]) if word in NUMBER_WORDS and word not in _ALONE else None
        if value is not None:
            yield _with_unit(text, match.start(), match.end(), Decimal(value))


def _with_unit(text: str, start: int, end: int, value: Decimal) -> Number:
    if text[start - 1 : start].isdigit() or re.search(rf"\d[{_SPACES}-]$", text[max(0, start - 2) : start]):
        return Number(start, start, "", value)
    unit, stop = _unit_after(text, end, "")
    if unit is None:
        return Number(start, end, text[start:end], value)
    return Number(start, stop, text[start:stop], value * unit[1], unit[0])


def _words_value(words: list[str]) -> int | None:
    """The value of cardinal words: forty two, one hundred five, two million; None when they do not form one number."""
    total = current = 0
    last = ""
    for word in words:
        if word in _WORD_VALUES:
            value = _WORD_VALUES[word]
            if last == "unit" or (last == "ten" and not 0 < value < 10):
                return None
            current, last = current + value, "unit"
        elif word in _TENS:
            if last in ("unit", "ten"):
                return None
            current, last = current + _TENS[word], "ten"
        else:
            scale = _WORD_SCALES.get(word) or _PLURAL_SCALES[word]
            if scale in (12, 100):
                current = (current or 1) * scale
            else:
                total, current = total + (current or 1) * scale, 0
            last = "scale"
    return total + current


def _with_ranges(text: str, numbers: list[Number]) -> Iterator[Number]:
    """Join the two ends of a range: the first takes unit and scale from the second, both say which end they are."""
    position = 0
    while position < len(numbers):
        low = numbers[position]
        high = numbers[position + 1] if position + 1 < len(numbers) else None
        joined = _range(text, low, high) if high is not None and 0 < high.start - low.end <= _WIDEST_GAP else None
        if joined:
            yield from joined
            position += 2
        else:
            yield low
            position += 1


def _range(text: str, low: Number, high: Number) -> tuple[Number, Number] | None:
    joint = _joint(text[low.end : high.start])
    if not joint or low.key or high.key:
        return None
    if joint == "and" and not _BETWEEN.search(text, max(0, low.start - 24), low.start):
        return None
    dash = joint == "dash"
    if low.kind == "year" and dash and high.unit == "" and high.end - high.start == 2 and high.text.isdigit():
        year = low.value - low.value % 100 + high.value
        if year <= low.value:
            return None
        high = high._replace(value=year, kind="year")
    if low.unit != high.unit and low.unit and high.unit:
        return None
    if low.unit in _CURRENCY_NAMES and not high.unit:
        high = high._replace(unit=low.unit)
    if low.kind != "year" and low.unit in ("", high.unit):
        low = _scaled_like(low, high)
    if low.value >= high.value:
        return None
    return _end_of_range(low, "low"), _end_of_range(high, "high")


def _end_of_range(number: Number, part: Part) -> Number:
    start, end, text, value, unit, kind, _, other, key = number
    return Number(start, end, text, value, unit, kind, part, other, key)


@lru_cache(maxsize=1024)
def _joint(gap: str) -> str:
    """What stands between two numbers: `dash`, `to` or `and` as between the ends of a range, or nothing such."""
    for name, pattern in (("dash", _RANGE_DASH), ("to", _RANGE_WORD), ("and", _RANGE_AND)):
        if pattern.fullmatch(gap):
            return name
    return ""


def _scaled_like(low: Number, high: Number) -> Number:
    """The low end read with the scale and unit that are written once, behind the high end."""
    low_digits, high_digits = _DIGITS.search(low.text), _DIGITS.search(high.text)
    low_bare = _bare(low_digits.group()) if low_digits else None
    high_bare = _bare(high_digits.group()) if high_digits else None
    if not low_bare or not high_bare or abs(low.value) != low_bare:
        return low._replace(unit=high.unit)
    return low._replace(value=low.value * (abs(high.value) / high_bare), unit=high.unit)


def _bare(digits: str) -> Decimal | None:
    """The value of the digits alone."""
    if digits.isdigit():
        return Decimal(digits)
    value = _value(digits, None)
    return value[0] if value else None


_SPELT = {value: word for word, value in reversed((_WORD_VALUES | _TENS).items())}
_FACTORS: dict[str, tuple[Decimal, ...]] = {
    name: tuple(sorted({factor for other, factor in _UNITS.values() if other == name})) for name, _ in _UNITS.values()
}
_WRITTEN_SCALES = tuple(Decimal(10) ** exponent for exponent in (0, 3, 4, 6, 8, 9, 12))


def first_words(number: Number) -> frozenset[str]:
    """The words (runs of digits, or a number word) with which a text may begin to write this quantity.

    As many as its unit and scale words allow: 1,200,000 begins with 1200000, 1, 1200 (thousand) or 120 (万).
    """
    if number.key:
        return frozenset(re.findall(r"\d+", number.key)[:1])
    words = set(re.findall(r"\d+", number.text)[:1])
    for value in (abs(number.value), abs(number.other) if number.other is not None else None):
        for factor in _FACTORS.get(number.unit, (Decimal(1),)) if value else ():
            for scale in _WRITTEN_SCALES:
                part = (value or _ZERO) / factor / scale
                if part < Decimal("0.001"):
                    break
                whole = format(part, "f").partition(".")[0]
                words |= {whole, whole[: (len(whole) - 1) % 3 + 1]}
                if part == int(part) and int(part) in _SPELT:
                    words.add(_SPELT[int(part)])
                elif part == int(part) < 100:
                    words.add(_SPELT[int(part) // 10 * 10])
    return frozenset(words)
