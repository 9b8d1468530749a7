"""Every function of the environment with its overloads, in the order of resolution.

One line is one overload: its name, a dot before it if it is a member function, the types of its
arguments, its result and its id. Single capital letters are type variables; ``?T`` is an
optional, ``[T]`` a list, ``{K:V}`` a map.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Final

from pytest_dra.cel import types
from pytest_dra.cel.types import CelType


@dataclasses.dataclass(frozen=True, slots=True)
class Overload:
    """One overload; the target of a member function is its first argument."""

    name: str
    id: str
    member: bool
    args: tuple[CelType, ...]
    result: CelType
    generic: bool


_NAMES: Final = {
    "bool": types.BOOL, "int": types.INT, "uint": types.UINT, "double": types.DOUBLE,
    "string": types.STRING, "bytes": types.BYTES, "ts": types.TIMESTAMP, "dur": types.DURATION,
    "dyn": types.DYN, "Q": types.QUANTITY, "SV": types.SEMVER, "URL": types.URL,
    "FMT": types.FORMAT, "IP": types.IP, "CIDR": types.CIDR,
}  # fmt: skip


def _read_type(text: str) -> CelType:
    if text.startswith("?"):
        return types.optional_of(_read_type(text[1:]))
    if text.startswith("["):
        return types.list_of(_read_type(text[1:-1]))
    if text.startswith("{"):
        key, value = text[1:-1].split(":", 1)
        return types.map_of(_read_type(key), _read_type(value))
    if text.startswith("type:"):
        return types.type_of(_read_type(text[5:]))
    if text.startswith("authz:"):
        return types.CelType("struct", "kubernetes.authorization." + text[6:])
    return _NAMES.get(text) or types.variable(text)


def _has_variable(kind: CelType) -> bool:
    return kind.kind == "param" or any(_has_variable(part) for part in kind.params)


def read(table: str) -> list[Overload]:
    """The overloads of a table."""
    found = []
    for line in table.split("\n"):
        if not line:
            continue
        name, args, result, overload = line.split()
        kinds = tuple(_read_type(arg) for arg in args.split(",")) if args != "-" else ()
        made = _read_type(result)
        generic = _has_variable(made) or any(_has_variable(kind) for kind in kinds)
        member = name.startswith(".")
        found.append(Overload(name.lstrip("."), overload, member, kinds, made, generic))
    return found


def by_name(overloads: Iterable[Overload]) -> dict[str, list[Overload]]:
    """Overloads by the name of their function."""
    grouped: dict[str, list[Overload]] = {}
    for overload in overloads:
        grouped.setdefault(overload.name, []).append(overload)
    return grouped


def _relation(name: str, word: str) -> str:
    pairs = (
        "bool bool bool|int int int64|int double int64_double|int uint int64_uint64|"
        "uint uint uint64|uint double uint64_double|uint int uint64_int64|double double double|"
        "double int double_int64|double uint double_uint64|string string string|"
        "bytes bytes bytes|ts ts timestamp|dur dur duration"
    )
    rows = (pair.split() for pair in pairs.split("|"))
    return "".join(f"{name} {one},{other} bool {word}_{tail}\n" for one, other, tail in rows)


_GETTERS: Final = (
    ("getFullYear", "year"), ("getMonth", "month"), ("getDayOfYear", "day_of_year"),
    ("getDayOfMonth", "day_of_month"), ("getDate", "day_of_month_1_based"),
    ("getDayOfWeek", "day_of_week"), ("getHours", "hours"), ("getMinutes", "minutes"),
    ("getSeconds", "seconds"), ("getMilliseconds", "milliseconds"),
)  # fmt: skip


def _getters() -> str:
    lines = []
    for name, word in _GETTERS:
        zoned = "seconds_tz" if word == "seconds" else f"{word}_with_tz"
        lines.append(f".{name} ts int timestamp_to_{word}\n")
        lines.append(f".{name} ts,string int timestamp_to_{zoned}\n")
        if word in ("hours", "minutes", "seconds", "milliseconds"):
            lines.append(f".{name} dur int duration_to_{word}\n")
    return "".join(lines)


STANDARD: Final = (
    """\
_?_:_ bool,A,A A conditional
_&&_ bool,bool bool logical_and
_||_ bool,bool bool logical_or
!_ bool bool logical_not
@not_strictly_false bool bool not_strictly_false
_==_ A,A bool equals
_!=_ A,A bool not_equals
_+_ bytes,bytes bytes add_bytes
_+_ double,double double add_double
_+_ dur,dur dur add_duration_duration
_+_ dur,ts ts add_duration_timestamp
_+_ ts,dur ts add_timestamp_duration
_+_ int,int int add_int64
_+_ [A],[A] [A] add_list
_+_ string,string string add_string
_+_ uint,uint uint add_uint64
_/_ double,double double divide_double
_/_ int,int int divide_int64
_/_ uint,uint uint divide_uint64
_%_ int,int int modulo_int64
_%_ uint,uint uint modulo_uint64
_*_ double,double double multiply_double
_*_ int,int int multiply_int64
_*_ uint,uint uint multiply_uint64
-_ double double negate_double
-_ int int negate_int64
_-_ double,double double subtract_double
_-_ dur,dur dur subtract_duration_duration
_-_ int,int int subtract_int64
_-_ ts,dur ts subtract_timestamp_duration
_-_ ts,ts dur subtract_timestamp_timestamp
_-_ uint,uint uint subtract_uint64
"""
    + _relation("_<_", "less")
    + _relation("_<=_", "less_equals")
    + _relation("_>_", "greater")
    + _relation("_>=_", "greater_equals")
    + """\
_[_] [A],int A index_list
_[_] {A:B},A B index_map
_[_] ?[V],int ?V optional_list_index_int
_[_] ?{K:V},K ?V optional_map_index_value
@in A,[A] bool in_list
@in A,{A:B} bool in_map
size bytes int size_bytes
.size bytes int bytes_size
size [A] int size_list
.size [A] int list_size
size {A:B} int size_map
.size {A:B} int map_size
size string int size_string
.size string int string_size
type A type:A type
bool bool bool bool_to_bool
bool string bool string_to_bool
bytes bytes bytes bytes_to_bytes
bytes string bytes string_to_bytes
double double double double_to_double
double int double int64_to_double
double string double string_to_double
double uint double uint64_to_double
duration dur dur duration_to_duration
duration string dur string_to_duration
dyn A dyn to_dyn
int int int int64_to_int64
int double int double_to_int64
int dur int duration_to_int64
int string int string_to_int64
int ts int timestamp_to_int64
int uint int uint64_to_int64
string string string string_to_string
string bool string bool_to_string
string bytes string bytes_to_string
string double string double_to_string
string dur string duration_to_string
string int string int64_to_string
string ts string timestamp_to_string
string uint string uint64_to_string
timestamp ts ts timestamp_to_timestamp
timestamp int ts int64_to_timestamp
timestamp string ts string_to_timestamp
uint uint uint uint64_to_uint64
uint double uint double_to_uint64
uint int uint int64_to_uint64
uint string uint string_to_uint64
.contains string,string bool contains_string
.endsWith string,string bool ends_with_string
.startsWith string,string bool starts_with_string
matches string,string bool matches
.matches string,string bool matches_string
"""
    + _getters()
)

EXTENSIONS: Final = """\
optional.of V ?V optional_of
optional.ofNonZeroValue V ?V optional_ofNonZeroValue
optional.none - ?V optional_none
.value ?V V optional_value
.hasValue ?V bool optional_hasValue
.or ?V,?V ?V optional_or_optional
.orValue ?V,V V optional_orValue_value
_?._ dyn,string ?V select_optional_field
_[?_] [V],int ?V list_optindex_optional_int
_[?_] ?[V],int ?V optional_list_optindex_optional_int
_[?_] {K:V},K ?V map_optindex_optional_value
_[?_] ?{K:V},K ?V optional_map_optindex_optional_value
.last [V] ?V list_last
.first [V] ?V list_first
optional.unwrap [?V] [V] optional_unwrap
.unwrapOpt [?V] [V] optional_unwrapOpt
.charAt string,int string string_char_at_int
.lowerAscii string string string_lower_ascii
.replace string,string,string string string_replace_string_string
.replace string,string,string,int string string_replace_string_string_int
.split string,string [string] string_split_string
.split string,string,int [string] string_split_string_int
.substring string,int string string_substring_int
.substring string,int,int string string_substring_int_int
.trim string string string_trim
.upperAscii string string string_upper_ascii
.format string,[dyn] string string_format
strings.quote string string strings_quote
.join [string] string list_join
.join [string],string string list_join_string
sets.contains [T],[T] bool list_sets_contains_list
sets.equivalent [T],[T] bool list_sets_equivalent_list
sets.intersects [T],[T] bool list_sets_intersects_list
cel.@mapInsert {K:V},K,V {K:V} @mapInsert_map_key_value
cel.@mapInsert {K:V},{K:V} {K:V} @mapInsert_map_map
"""


def _templated(name: str, names: str, args: str, result: str, overload: str) -> str:
    """One overload per type of ``names``; % stands for the type, @ for its long name."""
    long_names = {"dur": "duration", "ts": "timestamp"}
    lines = []
    for kind in names.split():
        row = f".{name} {args} {result} {overload}\n"
        lines.append(row.replace("%", kind).replace("@", long_names.get(kind, kind)))
    return "".join(lines)


_COMPARABLE: Final = "int uint double bool dur ts string bytes"

KUBERNETES: Final = (
    """\
url string URL string_to_url
.getScheme URL string url_get_scheme
.getHost URL string url_get_host
.getHostname URL string url_get_hostname
.getPort URL string url_get_port
.getEscapedPath URL string url_get_escaped_path
.getQuery URL {string:[string]} url_get_query
isURL string bool is_url_string
.find string,string string string_find_string
.findAll string,string [string] string_find_all_string
.findAll string,string,int [string] string_find_all_string_int
"""
    + _templated("isSorted", _COMPARABLE, "[%]", "bool", "list_@_is_sorted_bool")
    + _templated("sum", "int uint double dur", "[%]", "%", "list_@_sum_@")
    + _templated("max", _COMPARABLE, "[%]", "%", "list_@_max_@")
    + _templated("min", _COMPARABLE, "[%]", "%", "list_@_min_@")
    + """\
.indexOf [A],A int list_a_index_of_int
.lastIndexOf [A],A int list_a_last_index_of_int
.indexOf string,string int string_index_of_string
.indexOf string,string,int int string_index_of_string_int
.lastIndexOf string,string int string_last_index_of_string
.lastIndexOf string,string,int int string_last_index_of_string_int
quantity string Q string_to_quantity
isQuantity string bool is_quantity_string
sign Q int quantity_sign
.isGreaterThan Q,Q bool quantity_is_greater_than
.isLessThan Q,Q bool quantity_is_less_than
.compareTo Q,Q int quantity_compare_to
.asApproximateFloat Q double quantity_get_float
.asInteger Q int quantity_get_int
.isInteger Q bool quantity_is_integer
.add Q,Q Q quantity_add
.add Q,int Q quantity_add_int
.sub Q,Q Q quantity_sub
.sub Q,int Q quantity_sub_int
ip string IP string_to_ip
.family IP int ip_family
ip.isCanonical string bool ip_is_canonical
.isUnspecified IP bool ip_is_unspecified
.isLoopback IP bool ip_is_loopback
.isLinkLocalMulticast IP bool ip_is_link_local_multicast
.isLinkLocalUnicast IP bool ip_is_link_local_unicast
.isGlobalUnicast IP bool ip_is_global_unicast
isIP string bool is_ip
string IP string ip_to_string
cidr string CIDR string_to_cidr
.containsIP CIDR,string bool cidr_contains_ip_string
.containsIP CIDR,IP bool cidr_contains_ip_ip
.containsCIDR CIDR,string bool cidr_contains_cidr_string
.containsCIDR CIDR,CIDR bool cidr_contains_cidr
.ip CIDR IP cidr_ip
.prefixLength CIDR int cidr_prefix_length
.masked CIDR CIDR cidr_masked
isCIDR string bool is_cidr
string CIDR string cidr_to_string
.validate FMT,string ?[string] format-validate
format.named string ?FMT format-named
semver string SV string_to_semver
semver string,bool SV string_bool_to_semver
isSemver string bool is_semver_string
isSemver string,bool bool is_semver_string_bool
.isGreaterThan SV,SV bool semver_is_greater_than
.isLessThan SV,SV bool semver_is_less_than
.compareTo SV,SV int semver_compare_to
.major SV int semver_major
.minor SV int semver_minor
.patch SV int semver_patch
"""
    + "".join(
        f"format.{name} - FMT format.{name}\n"
        for name in [
            "byte",
            "date",
            "datetime",
            "dns1035Label",
            "dns1035LabelPrefix",
            "dns1123Label",
            "dns1123LabelPrefix",
            "dns1123Subdomain",
            "dns1123SubdomainPrefix",
            "labelValue",
            "qualifiedName",
            "uri",
            "uuid",
        ]
    )
)

AUTHORIZATION: Final = """\
.path authz:Authorizer,string authz:PathCheck authorizer_path
.group authz:Authorizer,string authz:GroupCheck authorizer_group
.serviceAccount authz:Authorizer,string,string authz:Authorizer authorizer_serviceaccount
.resource authz:GroupCheck,string authz:ResourceCheck groupcheck_resource
.subresource authz:ResourceCheck,string authz:ResourceCheck resourcecheck_subresource
.namespace authz:ResourceCheck,string authz:ResourceCheck resourcecheck_namespace
.name authz:ResourceCheck,string authz:ResourceCheck resourcecheck_name
.fieldSelector authz:ResourceCheck,string authz:ResourceCheck authorizer_fieldselector
.labelSelector authz:ResourceCheck,string authz:ResourceCheck authorizer_labelselector
.check authz:PathCheck,string authz:Decision pathcheck_check
.check authz:ResourceCheck,string authz:Decision resourcecheck_check
.errored authz:Decision bool decision_errored
.error authz:Decision string decision_error
.allowed authz:Decision bool decision_allowed
.reason authz:Decision string decision_reason
"""
"""Declared, but no selector can reach a value of these types."""

LISTS: Final = (
    """\
.slice [T],int,int [T] list_slice
.flatten [[T]] [T] list_flatten
.flatten [dyn],int [dyn] list_flatten_int
"""
    + _templated("sort", _COMPARABLE, "[%]", "[%]", "list_@_sort")
    + _templated(
        "#sortByAssociatedKeys", _COMPARABLE, "[T],[%]", "[T]", "list_@_sort_by_keys"
    ).replace("#", "@")
    + """\
lists.range int [int] lists_range
.reverse [T] [T] list_reverse
.distinct [T] [T] list_distinct
"""
)
"""The list functions of CEL, from 1.34."""

INCLUDES: Final = ".includes dyn,dyn bool list_includes_dyn_dyn\n"

INT_DURATION: Final = "duration int dur int64_to_duration\n"
"""Declared up to 1.36, although it always fails."""
