"""Every threshold, seed, price, path and word list, as frozen pydantic models. One section a part of the pipeline.

Where a value comes from: command line > `corpus.toml` > `--config` file > the defaults here. `load` merges the
layers and checks them once; inside, settings are trusted. No module reads the environment except for keys named
here. What belongs elsewhere: anything computed from data.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from verification_pipeline.errors import UsageError
from verification_pipeline.keys import hash_of


def _spaced(words: str) -> tuple[str, ...]:
    return tuple(words.split())


def _listed(words: str) -> tuple[str, ...]:
    return tuple(words.split("|"))


Share = Annotated[float, Field(ge=0, le=1)]


class Section(BaseModel):
    """A frozen group of settings; unknown names are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Limits(Section):
    """Sizes beyond which an input is recorded as too large instead of read, and the longest that one may take."""

    document_chars: int = Field(2_000_000, gt=0, description="Longest document that is read, code points.")
    source_chars: int = Field(4_000_000, gt=0, description="Longest source text that is read, code points.")
    file_bytes: int = Field(64_000_000, gt=0, description="Largest single document or source file, bytes.")
    document_seconds: float = Field(
        300, gt=0, description="Longest that the reading of one document may take: a slower one is recorded as failed."
    )


class Corpus(Section):
    """What makes a source text unusable as evidence."""

    challenge_phrases: tuple[str, ...] = (
        "checking your browser",
        "enable javascript and cookies",
        "verify you are human",
        "making sure you are not a bot",
        "are you a robot",
        "attention required! | cloudflare",
        "access denied",
        "please enable cookies",
        "unusual traffic from your computer network",
        "complete the captcha",
        "ddos protection by",
        "we value your privacy",
        "before you continue to",
    )
    challenge_max_words: int = Field(
        120, gt=0, description="A page with a challenge phrase and at most so many words is one."
    )
    challenge_within_chars: int = Field(200, gt=0, description="The phrase stands within so many code points.")
    empty_words: tuple[str, ...] = ("nan", "none", "null", "n/a", "undefined", "[deleted]", "[removed]")


class Citations(Section):
    """How documents are read: reference lists and markers."""

    list_headings: tuple[str, ...] = Field(
        _listed(
            "sources|references|reference list|list of references|works cited|work cited|bibliography|citations"
            "|cited sources|literature|literature cited|sources cited|cited works|source list|list of sources"
            "|endnotes|reference|source|quellen|quellenverzeichnis|quellenangaben|literatur|literaturverzeichnis"
            "|einzelnachweise|referenzen|belege|références|bibliographie|sources et références|ouvrages cités"
            "|fuentes|referencias|bibliografía|obras citadas|riferimenti|fonti|bibliografia|referências|fontes"
            "|referências bibliográficas|referencias bibliográficas|bronnen|literatuur|referenties|källor"
            "|referenser|kilder|referanser|lähteet|viitteet|źródła|przypisy|zdroje|kaynakça|kaynaklar|литература"
            "|источники|список литературы|список источников|ссылки|джерела|βιβλιογραφία|αναφορές|πηγές|参考文献"
            "|参考资料"
            "|参考来源|资料来源|信息来源|数据来源|来源|引用来源|引用|引用文献|文献|参考|參考文獻|資料來源|出典"
            "|参照|参考リンク|参照文献|참고문헌|참고 문헌|출처|참고자료|المراجع"
            "|المصادر|מקורות|ביבליוגרפיה|संदर्भ|स्रोत"
        ),
        description="Headings of reference lists, case-folded, without numbering and punctuation.",
    )
    weak_list_headings: tuple[str, ...] = Field(
        _listed(
            "notes|footnotes|links|further reading|see also|external links|resources|anmerkungen|fußnoten"
            "|weblinks|notas|note|примечания|σημειώσεις|注释|注釈|脚注|注|외부 링크|주석|ملاحظات"
        ),
        description="Headings under which a list is one only if most entries name an address, a DOI or a year.",
    )
    list_heading_words: tuple[str, ...] = Field(
        _listed(
            "and|sources|references|cited|works|key|selected|primary|main|full|consulted|used|list|of|the|further"
            "|reading|notes|bibliography|citations|data|literature|footnotes|endnotes|links|und|quellen|literatur"
            "|verwendete|et|références|y|fuentes|referencias"
        ),
        description="Words that a heading such as 'Sources and further reading' is made of.",
    )
    places: tuple[str, ...] = Field(
        _listed(
            "africa|america|asia|europe|antarctica|australia|oceania|argentina|austria|bangladesh|belgium|bolivia|brazil"
            "|bulgaria|cambodia|cameroon|canada|chile|china|colombia|croatia|cuba|cyprus|denmark|ecuador|egypt|england"
            "|estonia|ethiopia|finland|france|germany|ghana|greece|hungary|iceland|india|indonesia|iran|iraq|ireland"
            "|israel|italy|japan|kazakhstan|kenya|korea|latvia|lebanon|libya|lithuania|luxembourg|malaysia|mali|malta"
            "|mexico|mongolia|morocco|mozambique|myanmar|namibia|nepal|netherlands|new zealand|nicaragua|nigeria|norway"
            "|pakistan|panama|paraguay|peru|philippines|poland|portugal|qatar|romania|russia|rwanda|saudi arabia"
            "|scotland|senegal|serbia|singapore|slovakia|slovenia|somalia|south africa|south korea|spain|sri lanka"
            "|sudan|sweden|switzerland|syria|taiwan|tanzania|thailand|tunisia|turkey|uganda|ukraine|united kingdom"
            "|united states|uruguay|venezuela|vietnam|wales|yemen|zambia|zimbabwe|amsterdam|athens|atlanta|auckland"
            "|baghdad|bangkok|barcelona|beijing|belgrade|berlin|bern|bogotá|boston|brussels|bucharest|budapest"
            "|buenos aires|cairo|cape town|chicago|cologne|copenhagen|dallas|delhi|new delhi|dhaka|dresden|dubai|dublin"
            "|edinburgh|frankfurt|geneva|glasgow|hamburg|hanoi|havana|helsinki|hong kong|houston|istanbul|jakarta"
            "|jerusalem|johannesburg|karachi|kyiv|kyoto|lagos|lahore|leipzig|lima|lisbon|london|los angeles|lyon|madrid"
            "|manchester|manila|marseille|melbourne|mexico city|miami|milan|montreal|moscow|mumbai|munich|nairobi"
            "|naples|new york|new york city|osaka|oslo|ottawa|paris|philadelphia|prague|rio de janeiro|riga|rome"
            "|rotterdam|san francisco|santiago|são paulo|seattle|seoul|shanghai|shenzhen|stockholm|stuttgart|sydney"
            "|taipei|tallinn|tehran|tel aviv|tokyo|toronto|turin|vancouver|venice|vienna|vilnius|warsaw|washington"
            "|zagreb|zürich|zurich|california|texas|florida|deutschland|österreich|schweiz|frankreich|wien|münchen|köln"
            "|españa|méxico|brasil|italia|roma|milano|москва|россия"
        ),
        description="Places: `(Berlin, 2020)` cites nobody unless the reference list has such an author. Case-folded.",
    )
    longest_range: int = Field(200, gt=0, description="Most numbers that a range such as [3-5] may stand for.")
    clause_min_words: int = Field(3, ge=1, description="Fewest words of a clause that is cited by itself.")
    cell_sentence_words: int = Field(
        6, ge=1, description="A table cell with so many words is read as prose, not as a value of its row and column."
    )


class Triage(Section):
    """What passes without a reader. Word lists are folded words of all languages together."""

    strong: Literal["number-rule", "always-read"] = Field(
        "number-rule", description="Whether strong pairs may pass by the number rule at all."
    )
    min_words: int = Field(3, ge=2, description="Fewest content words and numbers of a claim that may pass.")
    places: int = Field(8, ge=1, description="Places of a source that are looked at for one claim.")
    window_words: int = Field(
        8, ge=4, description="Fewest content words and numbers of a claim that may pass on two neighbouring sentences."
    )
    stretch: float = Field(
        3.0, ge=1, description="Words that the place may have beyond the claim's, as a multiple, for a pass by words."
    )
    added_signs: int = Field(
        3, ge=0, description="Signs of a script without spaces that a claim may have beyond its place."
    )
    added_share: float = Field(0.15, ge=0, le=1, description="The same, as a share of the claim's content signs.")
    telling_signs: tuple[str, ...] = Field(
        _spaced("全 均 仅 唯 最 首 第 只 半 倍 前 后 上 下 内 外 新 旧 男 女 东 西 南 北"),
        description="Signs that are never a mere addition.",
    )
    stop_words: tuple[str, ...] = Field(
        _spaced(
            "a an the this that these those its it their theirs his her hers our your my which who whom whose what"
            " of in on at to by for from with as and or than then there into onto upon is are was were be been"
            " being am has have had having do does did will shall also however moreover furthermore additionally"
            " thus therefore hence meanwhile overall such so very s t re ve ll d between during about around"
            " approximately approx roughly circa der die das den dem des ein eine einer eines einem einen und oder"
            " von vom zu zum zur im am auf mit bei für ist sind war waren wird werden wurde wurden hat haben hatte"
            " hatten dass als auch sich es er sie etwa rund zwischen le la les un une des du de et ou à au aux en"
            " dans par pour sur avec est sont était étaient a ont avait qui que ce cette ces se sa son ses environ"
            " entre el los las una unos unas del al y o u con es son fue fueron era eran ha han había su sus lo il"
            " gli i uno di e che per è sono della delle dei do da os as um uma em no na het een van met и в во на"
            " с со к по из у о об от до за что это как был была были было есть των του της το τα ο η οι και με για"
            " από στο στη στην είναι ήταν 的 了 在 是 和 与 及 于 为 由 其 之 也 并 且 对 以 而 因 此 这 那 个 种"
            " 位 名 所 将 被 把 使 让 就 都 还 则 但 却 会 能 可 着 过 地 得 等 或 如 即 时 中 一 有 它 他 她 们"
            " 我 你 该 各 每 更 又 再 才 已 曾 来 去 到 从 给 向 当 后 前 里 内 间 上 下"
        ),
        description="Words that carry no fact.",
    )
    neutral_words: tuple[str, ...] = Field(
        _spaced(
            "some often usually generally typically sometimes commonly partly when while where how if both many"
            " located situated based known called named titled considered regarded described include includes"
            " including contain contains consist consists refers referred located become became remains remained"
            " stood reported recorded registered amounted totaled totalled came equaled equalled betrug erreichte lag"
            " belief s'élevait ascendió according"
        ),
        description="Verbs that only say that a figure is one; a claim may have them where the source has another.",
    )
    connectives: tuple[str, ...] = Field(
        (
            "in addition", "in particular", "in general", "in fact", "in summary", "in conclusion", "in short",
            "in other words", "in contrast", "in turn", "for example", "for instance", "as a result", "by contrast",
            "on the other hand", "at the same time", "first of all", "additionally", "furthermore", "moreover",
            "however", "specifically", "notably", "importantly", "interestingly", "indeed", "similarly", "likewise",
            "conversely", "consequently", "accordingly", "nevertheless", "nonetheless", "overall", "finally", "lastly",
            "thirdly", "secondly", "firstly", "thus", "therefore", "hence", "namely", "außerdem", "zudem",
            "darüber hinaus", "zum beispiel", "daher", "deshalb", "schließlich", "insgesamt", "de plus", "en outre",
            "par exemple", "ainsi", "enfin", "además", "por ejemplo", "por lo tanto", "en general", "por último",
            *_spaced(
                "此外 另外 同时 其次 例如 比如 因此 所以 但是 而且 最后 然而 首先 总之 不过 具体来说 一般来说"
                " 总的来说 相反 相比之下 与此同时 需要注意的是 但需要注意的是 值得注意的是"
            ),
        ),
        description="Openings, before a comma, that only tie a claim to the sentence before it.",
    )  # fmt: skip
    negations: tuple[str, ...] = Field(
        _spaced(
            "not no never none nobody nothing neither nor without cannot nicht kein keine keinen keiner keines nie"
            " niemals ohne weder pas jamais aucun aucune sans ni nunca ningún ninguna sin tampoco non mai senza"
            " não nunca sem niet geen не ни нет никогда без δεν μην όχι ποτέ χωρίς 不 没 沒 无 無 未 非 別 莫"
        ),
        description="Words that turn a statement round; the claim and its place must have the same.",
    )
    neutral_compounds: tuple[str, ...] = Field(
        _spaced(
            "特别 区别 分别 性别 类别 级别 个别 识别 鉴别 辨别 派别 别墅 別墅 非洲 不仅 不但 无论 不论 不管 無論 不論"
            " 不僅"
        ),
        description="Words of scripts without spaces that hold the sign of a negation and negate nothing.",
    )
    hedges: tuple[str, ...] = Field(
        _spaced(
            "may might could would should can seem seems seemed appears possibly perhaps probably likely unlikely"
            " potentially allegedly supposedly apparently purportedly alleged claimed claims claim rumored"
            " rumoured hypothetical hypothesized hypothesised expected expects expect planned plans plan projected"
            " projects forecast forecasts predicted proposed proposes intends intended aims hoped hopes estimated"
            " if unless whether until unclear uncertain unknown suspected assumed könnte könnten möglicherweise"
            " vielleicht wahrscheinlich voraussichtlich angeblich soll sollen sollte falls wenn geplant pourrait"
            " pourraient peut-être probablement prévu si podría podrían quizás posiblemente previsto может могут"
            " возможно вероятно если μπορεί ίσως αν 可能 或许 也许 预计 計劃 计划 如果 若 据称"
        ),
        description="Words that weaken a statement; a place that has one where the claim has none gives no pass.",
    )
    reversals: tuple[str, ...] = Field(
        _spaced(
            "denied denies deny refuted refutes disputed disputes disproved debunked false falsely incorrect"
            " incorrectly untrue wrong wrongly myth hoax contrary instead rather unlike except excluding barely"
            " hardly scarcely almost nearly failed fails fail refused rejected rejects prevented cancelled"
            " canceled reversed formerly previously initially originally corrected retracted withdrawn former fake"
            " hypothetically fast beinahe falsch bestritt entgegen statt außer kaum presque faux nié au lieu sauf"
            " casi falso negó excepto почти ложно опроверг кроме 谣言 辟谣 不实 误传 误解 否认 驳斥 虚假 错误 险些 差点"
            " 几乎 取消 撤回"
        ),
        description="Words by which a statement is denied, limited or taken back.",
    )
    bounds: tuple[str, ...] = Field(
        _spaced(
            "more less fewer over under above below least most exceeding exceeded up beyond within maximum minimum"
            " max min mehr weniger über unter mindestens höchstens plus moins más menos более менее свыше 超过"
            " 不到 至少 至多"
        ),
        description="Words before a number that make it a bound; the claim and its place must have the same.",
    )
    opposites: tuple[tuple[str, str], ...] = Field(
        tuple(
            (left, right)
            for left, right in (
                pair.split("/")
                for pair in _spaced(
                    "rose/fell rise/fall rises/falls rising/falling increased/decreased increase/decrease"
                    " increases/decreases increasing/decreasing grew/shrank grow/shrink up/down higher/lower"
                    " highest/lowest gained/lost gain/loss more/less most/least before/after above/below over/under"
                    " first/last north/south northern/southern east/west eastern/western enabled/disabled open/closed"
                    " opened/closed won/lost win/lose accepted/rejected approved/rejected improved/worsened"
                    " positive/negative male/female men/women import/export imports/exports supply/demand buy/sell"
                    " bought/sold earlier/later early/late left/right minimum/maximum majority/minority"
                    " include/exclude including/excluding increased/reduced increase/reduction gained/declined"
                    " rose/declined rose/dropped grew/declined stieg/sank stiegen/sanken zunahme/abnahme"
                    " mehr/weniger augmenté/diminué hausse/baisse aumentó/disminuyó creció/cayó вырос/упал"
                    " выросла/упала выросло/упало 前/后 上/下 增/减 升/降"
                    " 涨/跌 高/低 南/北 东/西 男/女 增加/减少 上升/下降"
                )
            )
        ),
        description="Words that say the contrary of each other; a place that has both where the claim has one gives no"
        " pass.",
    )


class Strong(Section):
    """Words that make a claim strong, besides typed numbers, per language (`*` = every language)."""

    words: Mapping[str, tuple[str, ...]] = {
        "*": ("%", "$", "€", "£", "¥"),
        "en": ("billion", "million", "increase", "decrease", "grew", "fell"),
        "de": ("Milliarde", "Milliarden", "Million", "Millionen", "stieg", "sank", "wuchs", "fiel"),
        "fr": ("milliard", "milliards", "million", "millions", "augmenté", "diminué", "hausse", "baisse"),
        "es": ("millones", "millón", "aumentó", "disminuyó", "creció", "cayó"),
        "zh": ("亿", "万", "增长", "下降", "增加", "减少"),
    }


class Sampling(Section):
    """What the checker reads. Seed `verification-receipt`: `all`, `strong-markers`, or a share of the rest."""

    sample: Literal["all", "strong-markers"] | Share = Field("all", description="all, strong-markers or 0..1.")
    seed: int = 20
    rest_share: float = Field(0.2, ge=0, le=1, description="Share of the rest under strong-markers.")
    batch_size: int = Field(25, ge=1, le=25)


class Lexical(Section):
    """The plain lexical grader: shares of the claim's weighted words that must stand in one passage."""

    supported_share: float = Field(0.8, ge=0, le=1, description="From this share on: supported.")
    partial_share: float = Field(0.5, ge=0, le=1, description="From this share on: partially supported.")
    negations: tuple[str, ...] = (
        *("not", "no", "never", "none", "neither", "nor", "without", "cannot", "t", "fails", "failed"),
        *("nicht", "kein", "keine", "nie", "ohne", "pas", "jamais", "sans", "nunca", "sin"),
        *("不", "没", "無", "非"),
    )


class Price(Section):
    """What a model costs, in cents per million tokens."""

    input: float = Field(ge=0)
    cached_input: float = Field(ge=0, description="Input that the provider read from its prompt cache.")
    output: float = Field(ge=0, description="Output, reasoning included.")
    batch_share: float = Field(0.5, ge=0, le=1, description="What a batch costs, as a share of the price online.")


class Embedded(Section):
    """The embedded checker: what a probability must be, and what it may be asked."""

    languages: tuple[str, ...] = Field(
        ("en",), description="Languages of documents it was measured on; pairs of others are not checked."
    )
    min_confidence: float = Field(
        0.62, ge=0, le=1, description="A verdict less probable than this is not given (`low-confidence`)."
    )
    guards: bool = Field(True, description="Whether figures, names, negations and opposites may forbid `supported`.")
    gainsaying_share: float = Field(
        0.5, ge=0, le=1, description="Weighted share of the claim that a sentence holds before it can contradict it."
    )
    figure_company: float = Field(
        0.3, ge=0, le=1, description="Share of the words around a figure that must stand around it in the source too."
    )
    intact_log_odds: float = Field(
        -0.5, description="Log-odds of an unedited claim below which its wording is doubted."
    )
    elsewhere_below: float = Field(
        0.5, ge=0, le=1, description="The document's other sources are read when the cited one is less probable."
    )
    elsewhere_supported: float = Field(
        0.6, ge=0, le=1, description="Probability that makes another source the right one."
    )
    elsewhere_retold: float = Field(
        0.8,
        ge=0,
        le=1,
        description="Weighted share of the claim that one sentence of another source must hold for a mere doubt about"
        " the wording to be set aside.",
    )
    elsewhere_share: float = Field(
        0.6, ge=0, le=1, description="Share of the claim's words that a passage of another source must hold to be read."
    )
    elsewhere_sources: int = Field(2, ge=0, description="Other sources that are read, best passages first.")
    negations: tuple[str, ...] = (
        "not", "no", "never", "none", "neither", "nor", "without", "cannot", "t", "hardly", "barely", "unable", "fail",
        "fails", "failed", "lack", "lacks", "lacking", "nobody", "nothing",
    )  # fmt: skip


class OpenAI(Section):
    """A model behind a server that speaks the OpenAI chat API."""

    base_url: str | None = Field(None, description="Address up to and with `/v1`; None: the provider's own.")
    model: str = "gpt-4.1-mini"
    api_key_env: str = Field("OPENAI_API_KEY", description="Environment variable that holds the key.")
    api_key_file: Path | None = Field(None, description="File that holds the key, where the variable is not set.")
    mode: Literal["online", "batch", "offline-file"] = Field(
        "online", description="Ask at once; hand in batches and collect later; or write files for `vllm run-batch`."
    )
    parameters: Mapping[str, Any] = Field(
        {"temperature": 0}, description="Further fields of the request, sent as they are: seed, reasoning_effort, …"
    )
    answer_format: Literal["json_schema", "json_object", "text"] = Field(
        "json_schema", description="How the answer's form is asked for; servers that refuse one get the next."
    )
    pairs_per_request: int = Field(25, ge=1, le=25)
    max_source_tokens: int = Field(
        8_000, ge=200, description="A longer source is shown as the passages that have most of a claim's words."
    )
    passage_tokens: int = Field(1_200, ge=50, description="How much of a longer source is chosen for one claim.")
    max_claim_chars: int = Field(4_000, ge=1, description="A longer claim is not asked: too-large.")
    context_chars: int = Field(1_500, ge=0, description="How much of a claim's context is shown.")
    candidates: int = Field(2, ge=0, description="Passages of the document's other sources shown with a pair.")
    candidate_min_score: float = Field(
        0.4, ge=0, le=1, description="Least share of the claim's weighted words that such a passage holds."
    )
    min_evidence_words: int = Field(2, ge=1, description="Evidence of fewer words shows nothing and is refused.")
    answer_tokens_base: int = Field(
        60, ge=0, description="Output tokens allowed besides the rows; thousands where the model reasons first."
    )
    answer_tokens_per_pair: int = Field(220, ge=50, description="Output tokens allowed for one row.")
    answer_limit_field: Literal["max_completion_tokens", "max_tokens"] = "max_completion_tokens"
    concurrency: int = Field(16, ge=1, description="Requests in flight, in one worker process.")
    timeout_seconds: float = Field(120, gt=0, description="For one request; it is tried once more after that.")
    retries: int = Field(4, ge=0, description="Further tries after a fault that may pass (5xx, cut connection).")
    backoff_seconds: float = Field(0.5, gt=0, description="First pause before a further try; it doubles up to 8 s.")
    max_wait_seconds: float = Field(600, gt=0, description="Longest that one request waits for the rate limit.")
    breaker_failures: int = Field(
        20, ge=1, description="So many failed requests in a row stop the asking: circuit-open."
    )
    batch_max_requests: int = Field(50_000, ge=1, le=50_000)
    batch_max_bytes: int = Field(190_000_000, ge=1_000, description="Largest input file of a batch.")
    batch_max_tokens: int = Field(
        2_000_000, ge=1_000, description="Most input tokens enqueued at the provider at a time, all batches together."
    )
    batch_settle_seconds: float = Field(
        60, ge=0, description="Age at which a creation whose answer was lost is looked up among the provider's batches."
    )
    prices: Mapping[str, Price] = Field(
        {
            "gpt-4.1": Price(input=200, cached_input=50, output=800),
            "gpt-4.1-mini": Price(input=40, cached_input=10, output=160),
            "gpt-4.1-nano": Price(input=10, cached_input=2.5, output=40),
        },
        description="By model; the provider's list prices of April 2025, when these models came out: check "
        "them against today's. No entry: no money is counted.",
    )
    budget_cents: float | None = Field(None, ge=0, description="Most that one run may cost; None: no limit.")


class Checker(Section):
    """Who grades the pairs that triage did not pass."""

    kind: Literal["none", "replay", "lexical", "embedded", "openai", "embedded+openai"] = "embedded"
    replay_path: Path | None = Field(None, description="Recorded answers, JSONL; None: the corpus's answers.jsonl.")
    lexical: Lexical = Lexical()
    embedded: Embedded = Embedded()
    openai: OpenAI = OpenAI()


class Quotes(Section):
    """Quoted spans and how they are compared."""

    min_words: int = Field(6, ge=1, description="Shortest quotation that is checked (seed verification-receipt).")
    short_words: int = Field(
        3, ge=1, description="Shorter ones of so many words get a row only where the cited source holds them."
    )
    words_per_ideograph: float = Field(0.5, gt=0, le=1, description="What an ideograph counts against min_words.")
    near_miss: float = Field(
        0.34, ge=0, lt=1, description="Most character edits of an altered quote, as a share of its length."
    )
    max_omitted_chars: int = Field(3_000, ge=0, description="Most source text behind one ellipsis, code points.")
    max_inserted_words: int = Field(4, ge=0, description="Most source words behind one editorial bracket.")
    max_text_without_grams: int = Field(
        200_000, ge=0, description="Longest source read in full for a quote without three words in a row, code points."
    )
    marker_gap_chars: int = Field(4, ge=0, description="A marker so near after a quote is its citation.")
    negations: tuple[str, ...] = (
        "not", "no", "never", "none", "neither", "nor", "without", "cannot", "n't", "nicht", "kein", "keine", "nie",
        "ohne", "ne", "pas", "jamais", "sans", "aucun", "aucune", "nunca", "sin", "ningún", "ninguna", "non", "mai",
        "não", "nem", "не", "нет", "ни", "без", "不", "没", "未", "无", "非",
    )  # fmt: skip
    magnitudes: tuple[str, ...] = (
        "hundred", "thousand", "million", "billion", "trillion", "millions", "billions", "percent", "per cent", "bn",
        "tn", "Million", "Millionen", "Milliarde", "Milliarden", "Prozent", "mille", "millions", "millones",
        "milliards", "pour cent", "por ciento", "万", "亿",
    )  # fmt: skip
    title_cues: tuple[str, ...] = (
        "titled", "entitled", "headlined", "subtitled", "captioned", "betitelt", "intitulé", "intitulée", "titulado",
        "titulada",
    )  # fmt: skip
    title_nouns: tuple[str, ...] = (
        "paper", "article", "report", "study", "book", "essay", "chapter", "thesis", "headline", "section", "podcast",
        "film", "song", "episode", "poem", "video", "post", "blog", "artikel", "studie", "buch", "livre", "étude",
        "libro", "artículo",
    )  # fmt: skip
    speech_cues: tuple[str, ...] = (
        "说", "說", "称", "稱", "指出", "表示", "写道", "寫道", "写到", "认为", "認為", "强调", "強調", "提出", "提到",
        "记载", "記載", "原文", "引述", "引用", "规定", "規定", "宣布", "警告", "回应", "回應", "坦言", "透露", "解释",
        "解釋", "呼吁", "问", "答", "云", "曰", "道", "言", "述べ", "語っ", "話し", "書い", "によれば", "によると",
    )  # fmt: skip
    title_min_words: int = Field(3, ge=1, description="Fewer long words than this show no capitalisation.")
    title_capitals: float = Field(0.85, gt=0, le=1, description="Share of capitalised long words of a title.")


class Independence(Section):
    """When two sources are one voice."""

    shingle_words: int = Field(5, ge=2, description="Words of a shingle; an ideograph is a word.")
    min_shingles: int = Field(16, ge=1, description="Texts with fewer distinct shingles of prose are never compared.")
    body_share: float = Field(
        0.5, gt=0, le=1, description="Least share of the smaller text's shingles in the larger for one voice."
    )
    wire_share: float = Field(0.3, gt=0, le=1, description="The same where both texts credit one agency.")
    sketch_rate: int = Field(16, ge=1, description="One shingle in so many is sampled.")
    sketch_least: int = Field(32, ge=1, description="Fewest samples of a text that has them.")
    sketch_most: int = Field(512, ge=1, description="Most samples of a text.")
    candidate_share: float = Field(0.15, gt=0, le=1, description="Least estimated overlap for an exact comparison.")
    rest_share: float = Field(
        0.35, gt=0, le=1, description="The same for what is left of two texts without the page around them."
    )
    common_texts: int = Field(5, ge=2, description="A shingle of so many texts may belong to pages, not to an author.")
    common_share: float = Field(
        0.35, ge=0, le=1, description="It does if such shingles are on average less than this share of those texts."
    )
    site_pages: int = Field(3, ge=2, description="A shingle of so many pages of one site may belong to the site.")
    site_rest: float = Field(
        0.25, ge=0, le=1, description="It does if without such shingles both pages keep this share of their text."
    )
    followed: int = Field(32, ge=2, description="Texts that a shared shingle links each text to, at most.")
    cached_texts: int = Field(2_048, ge=0, description="Shingled texts kept while candidates are compared.")
    short_line_words: int = Field(8, ge=1, description="A shorter line without a full stop is a menu or heading.")
    capital_share: float = Field(0.7, gt=0, le=1, description="A stretch with so many capitalised words is a menu.")
    boilerplate: tuple[str, ...] = (
        "we use cookies", "uses cookies to", "use of cookies", "accept all cookies", "manage cookie preferences",
        "your privacy choices", "we value your privacy", "consent to the", "skip to main", "skip to content",
        "all rights reserved", "sign up for our", "sign up to our", "subscribe to our", "subscribe to continue",
        "subscribe now to", "already a subscriber", "log in to", "sign in to", "create an account",
        "create a free account", "share this article", "share on facebook", "share on twitter", "follow us on",
        "terms of service", "terms of use", "terms and conditions", "privacy policy and", "read our privacy",
        "enable javascript in", "please enable javascript", "your browser does", "click here to", "page not found",
        "page you are", "verify you are", "you are commenting using", "enter your comment here", "notify me of new",
        "fill in your details", "sorry your blog cannot", "these crawls are part", "starting in 1996 alexa internet",
        "flowing in every day these data", "the wayback machine https", "internet archive discovers and captures",
        "view the web archive through", "then the internet archive hopes",
        "this is a collection of web page captures", "content crawled via the wayback",
        "liveweb proxy is a component", "the liveweb proxy captures", "collects statistics on the visitor",
        "learn more about this provider", "view a pdf of the paper", "bibliographic explorer toggle",
        "connected papers toggle", "arxivlabs is a framework", "both individuals and organizations that work",
        "have an idea for a project that will add", "checking your browser", "wir verwenden cookies",
        "diese website verwendet", "alle rechte vorbehalten", "abonnieren sie unseren", "nous utilisons des",
        "tous droits réservés", "politique de confidentialité", "utilizamos cookies para", "este sitio utiliza",
        "todos los derechos", "política de privacidad", "questo sito utilizza", "tutti i diritti",
        "este site utiliza", "todos os direitos", "мы используем файлы", "все права защищены", "版权所有",
        "保留所有权利", "违法和不良信息举报", "未经许可不得转载",
    )  # fmt: skip
    agencies: Mapping[str, tuple[str, ...]] = {
        "Reuters": ("Reuters", "REUTERS", "Thomson Reuters", "路透社", "路透", "ロイター", "Рейтер"),
        "AP": ("AP", "Associated Press", "ASSOCIATED PRESS", "美联社", "AP通信"),
        "AFP": ("AFP", "Agence France-Presse", "法新社", "АФП"),
        "dpa": ("dpa", "dpa-infocom", "dpa-AFX", "Deutsche Presse-Agentur"),
        "EFE": ("EFE", "Agencia EFE"),
        "Europa Press": ("Europa Press", "EUROPA PRESS"),
        "ANSA": ("ANSA",),
        "APA": ("APA",),
        "Keystone-SDA": ("Keystone-SDA", "keystone-sda", "sda"),
        "Lusa": ("Lusa", "LUSA"),
        "Xinhua": ("Xinhua", "XINHUA", "新华社", "新華社", "新华网"),
        "Kyodo": ("Kyodo", "KYODO", "Kyodo News", "共同", "共同社", "共同通信"),
        "TASS": ("TASS", "ТАСС"),
        "RIA Novosti": ("RIA Novosti", "РИА Новости"),
        "Interfax": ("Interfax", "Интерфакс"),
        "Yonhap": ("Yonhap", "연합뉴스"),
        "PTI": ("PTI", "Press Trust of India"),
        "ANI": ("ANI",),
        "PA": ("PA Media", "PA news agency", "Press Association"),
        "Canadian Press": ("Canadian Press", "CP"),
        "AAP": ("AAP", "Australian Associated Press"),
        "UPI": ("UPI", "United Press International"),
        "Bloomberg": ("Bloomberg",),
        "PR Newswire": ("PRNewswire", "PR Newswire", "PRNewswire-PRWeb", "CNW"),
        "Business Wire": ("BUSINESS WIRE", "Business Wire"),
        "GlobeNewswire": ("GLOBE NEWSWIRE", "GlobeNewswire", "GLOBENEWSWIRE"),
        "Accesswire": ("ACCESSWIRE", "ACCESS Newswire"),
        "EurekAlert": ("EurekAlert!", "EurekAlert"),
    }
    agency_hosts: Mapping[str, tuple[str, ...]] = {
        "Reuters": ("reuters.com",),
        "AP": ("apnews.com", "ap.org"),
        "AFP": ("afp.com",),
        "dpa": ("dpa.com",),
        "EFE": ("efe.com",),
        "ANSA": ("ansa.it",),
        "Xinhua": ("xinhuanet.com", "news.cn"),
        "Kyodo": ("kyodonews.net", "kyodo.co.jp"),
        "TASS": ("tass.com", "tass.ru"),
        "Yonhap": ("yna.co.kr",),
        "PR Newswire": ("prnewswire.com", "prnewswire.co.uk", "newswire.ca"),
        "Business Wire": ("businesswire.com",),
        "GlobeNewswire": ("globenewswire.com",),
        "Accesswire": ("accesswire.com",),
        "EurekAlert": ("eurekalert.org",),
    }


class Registers(Section):
    """Retraction registers: which are asked (those are required for `ok`), and when one counts as down."""

    retraction_watch: Path | None = Field(None, description="Retraction Watch CSV; None: not asked.")
    retraction_watch_min_rows: int = Field(
        1, ge=1, description="A file with fewer rows is down. The full register had 71,641 in August 2026."
    )
    retraction_watch_max_age_days: int | None = Field(
        None, ge=1, description="A file whose newest notice is older is down; None: any age."
    )
    max_vanished_share: float = Field(
        0.05, ge=0, le=1, description="A register that lost a larger share of its stored live notices is down."
    )
    canaries: tuple[str, ...] = Field(
        ("10.1016/s0140-6736(97)11096-0",),
        description="DOIs that must read as retracted, else the register is down: in online registers, and in a file "
        "of at least `canary_min_rows` rows.",
    )
    canary_min_rows: int = Field(10_000, ge=0, description="Smaller files are excerpts and need not hold the canaries.")
    crossref: bool = Field(
        False, description="Ask Crossref about works with a DOI: it holds Retraction Watch's notices too."
    )
    crossref_url: str = Field("https://api.crossref.org", description="Address of Crossref's REST API.")
    crossref_batch: int = Field(25, ge=1, le=100, description="DOIs in one request.")
    pubmed: bool = Field(False, description="Ask PubMed about works with a PubMed id.")
    pubmed_url: str = Field(
        "https://eutils.ncbi.nlm.nih.gov/entrez/eutils", description="Address of PubMed's E-utilities."
    )
    pubmed_batch: int = Field(100, ge=1, le=200, description="PubMed ids in one request.")
    openalex: bool = Field(
        False, description="Ask OpenAlex about works with a DOI: a tripwire, never proof. It needs a key."
    )
    openalex_url: str = Field("https://api.openalex.org", description="Address of OpenAlex's API.")
    openalex_batch: int = Field(50, ge=1, le=100, description="DOIs in one request.")
    openalex_key_env: str = Field("OPENALEX_API_KEY", description="Environment variable that holds the key.")
    mailto: str | None = Field(None, description="Address that online registers may write to: their polite pool.")
    concurrency: int = Field(4, ge=1, le=16, description="Requests in flight at one register.")
    timeout_seconds: float = Field(30, gt=0, description="Longest wait for one answer.")
    attempts: int = Field(4, ge=1, description="Tries of one request; 429, 5xx and silence are tried again.")
    backoff_seconds: float = Field(1, ge=0, description="First wait between tries; doubled each time.")
    longest_wait_seconds: float = Field(60, ge=0, description="Longest wait between tries, `Retry-After` included.")
    failures_until_down: int = Field(3, ge=1, description="Requests given up in a row after which a register is down.")
    fresh_hours: float = Field(
        12, ge=0, description="An online answer younger than this is not asked for again: a resumed night pays once."
    )
    oldest_year: int = Field(1900, description="A notice dated before this year counts as undated.")
    title_signs: tuple[str, ...] = Field(
        ("retracted", "withdrawn", "removed", "zurückgezogen", "retrahiert", "rétracté", "retractado", "retractada",
         "ritrattato", "撤稿", "已撤回"),
        description="Words that, set before a title with a colon or around it in brackets, say it was retracted.",
    )  # fmt: skip
    notice_titles: tuple[str, ...] = Field(
        ("retraction", "retraction notice", "notice of retraction", "withdrawal notice", "expression of concern"),
        description="Words before a title (with a colon, a dash, `to` or `of`) that make it the title of a notice.",
    )


class Acknowledgement(Section):
    """Words with which a document says that a work was retracted. Lists hold regular expressions of one word each."""

    retracted: tuple[str, ...] = Field(
        ("retracted", "zurückgezogene?[nrsm]?", "retrahierte?[nrsm]?", "rétractée?s?", "retractad[oa]s?",
         "ritrattat[oaie]", "retratad[oa]s?", "ingetrokken", "teruggetrokken", "отозван[аоы]?", "ретрагирован[аоы]?",
         "撤稿", "撤回", "철회"),
        description="Said of a publication.",
    )  # fmt: skip
    withdrawn: tuple[str, ...] = Field(
        ("withdrawn", "retirée?s?", "retirad[oa]s?", "ritirat[oaie]"),
        description="Said of a publication only beside a word for one.",
    )
    nouns: tuple[str, ...] = Field(
        ("retraction", "Retraktion", "rétractation", "retractación", "ritrattazione", "retratação"),
        description="The event: counts as a notice, or with an owner (`its`, `of the paper`).",
    )
    works: tuple[str, ...] = Field(
        ("papers?", "stud(?:y|ies)", "articles?", "publications?", "preprints?", "manuscripts?", "trials?", "reports?",
         "reviews?", "analys[ie]s", "research", "works?", "journals?", "editors?", "publishers?", "meta-analys[ie]s",
         "Studien?", "Arbeit(?:en)?", "Artikel", "Aufs(?:atz|ätze)", "Publikation(?:en)?", "Veröffentlichung(?:en)?",
         "Beitr(?:ag|äge)", "Zeitschrift", "Verlag", "études?", "revues?", "essais?", "estudios?", "artículos?",
         "trabajos?", "revista", "artigos?", "estudos?", "articol[oi]", "studi[oi]?", "rivista", "artikel",
         "tijdschrift", "onderzoek", "стать[яию]", "работ[аыу]", "исследовани[еяю]", "журнал", "论文", "文章", "研究",
         "期刊", "論文", "논문"),
        description="A publication, or who can retract one.",
    )  # fmt: skip
    denials: tuple[str, ...] = Field(
        ("never", "not", "n't", "n’t", "nor", "neither", "no", "without", "non", "un", "nicht", "nie(?:mals)?",
         "kein\\w*", "ohne", "sich", "ne", "n'", "n’", "pas", "jamais", "sans", "nunca", "sin", "mai", "não", "niet",
         "nooit", "не", "никогда", "未", "没有", "沒有", "從未", "从未"),
        description="Before the words, in the same clause: the opposite is meant.",
    )  # fmt: skip
    suppositions: tuple[str, ...] = Field(
        ("should", "would", "could", "might", "must", "may", "can", "cannot", "if", "unless", "whether", "calls?",
         "called", "calling", "demands?", "demanded", "demanding", "requests?", "requested", "asked", "asks", "urged",
         "urges", "petition\\w*", "refused", "declined", "rather", "unlike", "contrast", "contrary", "opposed", "other",
         "another", "sollte\\w*", "könnte\\w*", "müsste\\w*", "falls", "forder\\w*", "devrait", "pourrait", "debería",
         "podría"),
        description="Before the words, in the same clause: it is asked for, supposed, or said of something else.",
    )  # fmt: skip


class Policy(Section):
    """What the ship gate lets through."""

    allow_unsupported: bool = Field(
        False, description="Let unsupported and wrong-source pairs through the gate; dangling ones never."
    )
    waivers: Path | None = Field(None, description="Waivers (TOML); None: the corpus's waivers.toml.")


class TextChecks(Section):
    """What a document's text alone shows: leaked scaffolding, copied code."""

    code_min_lines: int = Field(5, ge=1, description="Shortest fenced block that is looked for in the sources.")
    code_run_words: int = Field(8, ge=2, description="Words of a run when code is compared with a source.")
    code_min_share: float = Field(0.8, gt=0, le=1, description="Share of a block's runs that make it the source's.")


class Metrics(Section):
    """Fleet figures."""

    confidence: float = Field(0.95, gt=0, lt=1, description="Confidence of the intervals.")


class DuckDBFile(Section):
    """Resources while the DuckDB file is built."""

    memory_limit: str = "1GB"
    threads: int = Field(2, ge=1)


class Storage(Section):
    """The shape of the store under --out."""

    shards: int | None = Field(
        None, ge=1, le=1_024, description="Document shards; None: as the store has them, 16 in a new one."
    )
    emptied: Literal["refuse", "remove"] = Field(
        "refuse",
        description="A corpus that had documents and now holds none: refused, since an empty mount looks like that, "
        "or its documents are removed.",
    )


class Settings(Section):
    """All settings of a run."""

    limits: Limits = Limits()
    corpus: Corpus = Corpus()
    citations: Citations = Citations()
    triage: Triage = Triage()
    strong: Strong = Strong()
    sampling: Sampling = Sampling()
    checker: Checker = Checker()
    quotes: Quotes = Quotes()
    independence: Independence = Independence()
    registers: Registers = Registers()
    acknowledgement: Acknowledgement = Acknowledgement()
    policy: Policy = Policy()
    text_checks: TextChecks = TextChecks()
    metrics: Metrics = Metrics()
    duckdb_file: DuckDBFile = DuckDBFile()
    storage: Storage = Storage()

    def fingerprint(self, *sections: str) -> str:
        """Hash of the named sections (of all, without names): the configuration component of a fingerprint."""
        chosen = sections or tuple(type(self).model_fields)
        return hash_of(*(f"{name}={getattr(self, name).model_dump_json()}" for name in chosen))


def read_toml(path: Path) -> dict[str, Any]:
    """A TOML file as a dict. UsageError names the file and the line."""
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"configuration {path} cannot be read: {error}") from error


def load(*layers: Mapping[str, Any], where: str = "configuration") -> Settings:
    """Merge layers, later ones winning key by key, into checked settings. UsageError names every bad value."""
    merged: dict[str, Any] = {}
    for layer in layers:
        _merge(merged, layer)
    try:
        return Settings.model_validate(merged)
    except ValidationError as error:
        faults = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())
        raise UsageError(f"{where}: {faults}") from error


def _merge(base: dict[str, Any], layer: Mapping[str, Any]) -> None:
    for key, value in layer.items():
        if isinstance(value, Mapping) and isinstance(base.get(key), dict):
            _merge(base[key], value)
        else:
            base[key] = dict(value) if isinstance(value, Mapping) else value
