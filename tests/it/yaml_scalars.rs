//! The meaning of scalars. Every row was verified with `YAMLToJSONStrict` of `sigs.k8s.io/yaml` v1.6.0.

use kubefoundry_yaml::{Limits, parse};
use serde_json::Value;

///  JSON`, `text => !` where Go refuses, and a bare `text` that stays a string.=>Parses rows of `text => JSON`, `text
/// => !` if Go refuses the text, and plain `text` that stays a string.=> JSON`, `text => !` where Go refuses, and a
/// bare `text` that stays a string.
fn rows(table: &str) -> impl Iterator<Item = (&str, Option<Value>)> {
    table.lines().flat_map(|line| line.split(" ;; ")).map(|row| match row.rsplit_once(" => ") {
        Some((text, "!")) => (text, None),
        Some((text, json)) => (text, Some(serde_json::from_str(json).unwrap())),
        None => (row, Some(Value::from(row))),
    })
}

/// Returns the only document of a text, or `None` if the text has a problem.
fn read(text: &str) -> Option<Value> {
    let parsed = parse(text, &Limits::default());
    let document = parsed.documents.first()?;
    (parsed.failure.is_none() && document.problems.is_empty()).then(|| document.root.to_json())
}

/// Numbers by value: `1e21` and `1000000000000000000000` are one number.
fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => left == right || left.as_f64() == right.as_f64(),
        _ => left == right,
    }
}

fn check(table: &str, document: impl Fn(&str) -> String, pick: impl Fn(&Value) -> Value, least: usize) {
    let mut count = 0;
    for (text, expected) in rows(table) {
        count += 1;
        let found = read(&document(text)).map(|root| pick(&root));
        let agrees = match (&found, &expected) {
            (Some(found), Some(expected)) => same(found, expected),
            (found, expected) => found.is_none() && expected.is_none(),
        };
        assert!(agrees, "{text}: found {found:?}, Go gives {expected:?}");
    }
    assert!(count >= least, "only {count} rows");
}

#[test]
fn plain_scalars_mean_what_they_mean_to_kubectl() {
    check(PLAIN, |text| format!("v: {text}\n"), |root| root["v"].clone(), 250);
}

#[test]
fn tagged_and_quoted_scalars_mean_what_they_mean_to_kubectl() {
    check(TAGGED, |text| format!("v: {text}\n"), |root| root["v"].clone(), 263);
}

#[test]
fn keys_become_the_strings_that_go_makes_of_them() {
    let key = |root: &Value| root.as_object().unwrap().keys().next().unwrap().as_str().into();
    check(KEYS, |text| format!("{text}: v\n"), key, 161);
}

const PLAIN: &str = r#"on => true ;; On => true ;; ON => true ;; oN ;; off => false ;; Off => false ;; OFF => false ;; y => true
Y => true ;; n => false ;; N => false ;; yes => true ;; Yes => true ;; YES => true ;; yEs ;; no => false
No => false ;; NO => false ;; nO ;; true => true ;; True => true ;; TRUE => true ;; tRue ;; false => false
False => false ;; FALSE => false ;; ~ => null ;; null => null ;; Null => null ;; NULL => null ;; nULL ;; nil
none ;; 0 => 0 ;; -0 => 0 ;; +0 => 0 ;; 00 => 0 ;; 000 => 0 ;; 0777 => 511 ;; 0o777 => 511 ;; 0O17 => 15
-0777 => -511 ;; +0777 => 511 ;; 08 => 8 ;; 09 => 9 ;; 0o8 ;; 018 => 18 ;; -08 => -8 ;; 0x ;; 0X ;; 0b ;; 0B
0o ;; 0x1F => 31 ;; 0X1f => 31 ;; 0xg ;; -0x10 => -16 ;; +0x10 => 16 ;; 0x_1F => 31 ;; 0_x1F => 31 ;; 0b101 => 5
0B101 => 5 ;; -0b101 => -5 ;; +0b101 => 5 ;; 0b102 ;; 0b-11 => -3 ;; 0b+11 => 3 ;; 0b+-1 ;; -0b-1 ;; -0b+1
0b_1 => 1 ;; 0b1_1 => 3 ;; -0b_1_1 => -3 ;; +0b-1 ;; 1 => 1 ;; 12 => 12 ;; +12 => 12 ;; -12 => -12 ;; --1 ;; ++1
+-1 ;; 1_000 => 1000 ;; 1__0 => 10 ;; 1_ => 1 ;; _1 ;; +_1 => 1 ;; -_1 => -1 ;; + ;; -_
12_345_678 => 12345678 ;; 1_000.5 => 1000.5 ;; 1_e3 => 1000 ;; 1e_3 => 1000
9223372036854775807 => 9223372036854775807 ;; 9223372036854775808 => 9223372036854775808
-9223372036854775808 => -9223372036854775808 ;; -9223372036854775809 => -9223372036854776000
18446744073709551615 => 18446744073709551615 ;; 18446744073709551616 => 18446744073709552000
+9223372036854775807 => 9223372036854775807 ;; +9223372036854775808 => 9223372036854776000
0xFFFFFFFFFFFFFFFF => 18446744073709551615 ;; 0x1FFFFFFFFFFFFFFFF ;; -0x8000000000000000 => -9223372036854775808
-0x8000000000000001 ;; 0x7FFFFFFFFFFFFFFF => 9223372036854775807
0b1111111111111111111111111111111111111111111111111111111111111111 => 18446744073709551615
0b11111111111111111111111111111111111111111111111111111111111111111
01777777777777777777777 => 18446744073709551615 ;; 02000000000000000000000 => 2e+21
99999999999999999999999999 => 1e+26 ;; 123456789012345678901234567890 => 1.2345678901234568e+29 ;; 1e3 => 1000
1E3 => 1000 ;; 1e+3 => 1000 ;; 1e-3 => 0.001 ;; 12e03 => 12000 ;; 1e ;; 1e+ ;; e3 ;; .e3 ;; 1.e3 => 1000
1.5e3 => 1500 ;; .5e1 => 5 ;; 1e20 => 100000000000000000000 ;; 1e21 => 1e+21 ;; 1e22 => 1e+22 ;; 1e400 ;; -1e400
1e-400 => 0 ;; 1e308 => 1e+308 ;; 1e309 ;; 9.007199254740993e15 => 9007199254740992
1e17 => 100000000000000000 ;; 1e18 => 1000000000000000000 ;; 1e19 => 10000000000000000000
12345678901234567890.0 => 12345678901234567000 ;; 9223372036854775808.0 => 9223372036854776000
18446744073709551615.0 => 18446744073709552000 ;; 1.8446744073709552e19 => 18446744073709552000
2.5e-7 => 2.5e-7 ;; 1e-7 => 1e-7 ;; 0.1 => 0.1 ;; 3.14 => 3.14 ;; 100.0 => 100 ;; -1.0 => -1 ;; -0.0 => 0
0.0 => 0 ;; 1.0e2 => 100 ;; 0e0 => 0 ;; 00.5 => 0.5 ;; 0.5.5 ;; .5 => 0.5 ;; 5. => 5 ;; . ;; .. ;; ...
-.5 => -0.5 ;; +.5 => 0.5 ;; -5. => -5 ;; +.5e3 => 500 ;; .5_5 => 0.55 ;; 5._5 => 5.5 ;; ._5 ;; .1e
.1e5 => 10000 ;; .1e400 ;; .0 => 0 ;; .inf => ! ;; .Inf => ! ;; .INF => ! ;; .iNf ;; +.inf => ! ;; +.Inf => !
+.INF => ! ;; -.inf => ! ;; -.Inf => ! ;; -.INF => ! ;; inf ;; Inf ;; +inf ;; -inf ;; nan ;; NaN ;; .nan => !
.NaN => ! ;; .NAN => ! ;; .naN ;; +.nan ;; -.nan ;; infinity ;; Infinity ;; 1:30 ;; 190:20:30 ;; 12:30:45 ;; 0:0
1:30.5 ;; 2024-01-01 ;; 2024-1-1 ;; 2024-13-01 ;; 2024-01-01T00:00:00Z ;; 2001-12-14t21:59:43.10-05:00
2024 => 2024 ;; 20240101 => 20240101 ;; 12-34 ;; 1-2 ;; 1.2.3 ;; 10.0.0.1 ;; 1.2.3.4/24 ;; v1 ;; 1a ;; 0a ;; 1Gi
500m ;; 1k ;; 0x1p3 ;; 0x1.8p1 ;; 1p3 ;; 1f ;; 1d ;; 1L ;; 0.5Gi ;; 1e3Gi ;; 1,000 ;; $1 ;; 1% ;; = ;; << ;; <
<<< ;; true1 ;; truee ;; yess ;; onn ;; nullx ;; ~x ;; ~~ ;; é ;; naïve ;; 日本 ;; 😀 ;; ½ ;; ٣ ;; １ ;; 1\u0660
1 000 ;; + 1 ;; 1 2 ;; 2001-12-14 21:59:43.10 ;; yes no ;; true false ;; 0x 1F ;; .5 .5 ;; 1e3 1 ;; null null"#;

const TAGGED: &str = r#"!!str 3 => "3" ;; !!str "3" => "3" ;; !!str 3.0 => "3.0" ;; !!str 3.5 => "3.5" ;; !!str 1e3 => "1e3"
!!str abc => "abc" ;; !!str "" => "" ;; !!str '' => "" ;; !!str true => "true" ;; !!str "true" => "true"
!!str yes => "yes" ;; !!str ~ => "~" ;; !!str null => "null" ;; !!str 0777 => "0777"
!!str 18446744073709551615 => "18446744073709551615" ;; !!str .inf => ".inf" ;; !!str aGVsbG8= => "aGVsbG8="
!!str "aGVs\nbG8=" => "aGVs\nbG8=" ;; !!str aGVsbG8 => "aGVsbG8" ;; !!str /w== => "/w==" ;; !!str a=== => "a==="
!!str QQ==QQ== => "QQ==QQ==" ;; !!str 2024-01-01 => "2024-01-01" ;; !!str 2024-13-01 => "2024-13-01"
!!str 2001-12-14 21:59:43.10 => "2001-12-14 21:59:43.10" ;; !!str 2024-01-01T1:2:3Z => "2024-01-01T1:2:3Z"
!!str xyz => "xyz" ;; !!str => "" ;; !!str "." => "." ;; !!str 0x1F => "0x1F" ;; !!str -0 => "-0"
!!str << => "<<" ;; !!int 3 => 3 ;; !!int "3" => 3 ;; !!int 3.0 => ! ;; !!int 3.5 => ! ;; !!int 1e3 => !
!!int abc => ! ;; !!int "" => ! ;; !!int '' => ! ;; !!int true => ! ;; !!int "true" => ! ;; !!int yes => !
!!int ~ => ! ;; !!int null => ! ;; !!int 0777 => 511 ;; !!int 18446744073709551615 => 18446744073709551615
!!int .inf => ! ;; !!int aGVsbG8= => ! ;; !!int "aGVs\nbG8=" => ! ;; !!int aGVsbG8 => ! ;; !!int /w== => !
!!int a=== => ! ;; !!int QQ==QQ== => ! ;; !!int 2024-01-01 => ! ;; !!int 2024-13-01 => !
!!int 2001-12-14 21:59:43.10 => ! ;; !!int 2024-01-01T1:2:3Z => ! ;; !!int xyz => ! ;; !!int => !
!!int "." => ! ;; !!int 0x1F => 31 ;; !!int -0 => 0 ;; !!int << => ! ;; !!bool 3 => ! ;; !!bool "3" => !
!!bool 3.0 => ! ;; !!bool 3.5 => ! ;; !!bool 1e3 => ! ;; !!bool abc => ! ;; !!bool "" => ! ;; !!bool '' => !
!!bool true => true ;; !!bool "true" => true ;; !!bool yes => true ;; !!bool ~ => ! ;; !!bool null => !
!!bool 0777 => ! ;; !!bool 18446744073709551615 => ! ;; !!bool .inf => ! ;; !!bool aGVsbG8= => !
!!bool "aGVs\nbG8=" => ! ;; !!bool aGVsbG8 => ! ;; !!bool /w== => ! ;; !!bool a=== => ! ;; !!bool QQ==QQ== => !
!!bool 2024-01-01 => ! ;; !!bool 2024-13-01 => ! ;; !!bool 2001-12-14 21:59:43.10 => !
!!bool 2024-01-01T1:2:3Z => ! ;; !!bool xyz => ! ;; !!bool => ! ;; !!bool "." => ! ;; !!bool 0x1F => !
!!bool -0 => ! ;; !!bool << => ! ;; !!float 3 => 3 ;; !!float "3" => 3 ;; !!float 3.0 => 3 ;; !!float 3.5 => 3.5
!!float 1e3 => 1000 ;; !!float abc => ! ;; !!float "" => ! ;; !!float '' => ! ;; !!float true => !
!!float "true" => ! ;; !!float yes => ! ;; !!float ~ => ! ;; !!float null => ! ;; !!float 0777 => 511
!!float 18446744073709551615 => ! ;; !!float .inf => ! ;; !!float aGVsbG8= => ! ;; !!float "aGVs\nbG8=" => !
!!float aGVsbG8 => ! ;; !!float /w== => ! ;; !!float a=== => ! ;; !!float QQ==QQ== => !
!!float 2024-01-01 => ! ;; !!float 2024-13-01 => ! ;; !!float 2001-12-14 21:59:43.10 => !
!!float 2024-01-01T1:2:3Z => ! ;; !!float xyz => ! ;; !!float => ! ;; !!float "." => ! ;; !!float 0x1F => 31
!!float -0 => 0 ;; !!float << => ! ;; !!null 3 => ! ;; !!null "3" => ! ;; !!null 3.0 => ! ;; !!null 3.5 => !
!!null 1e3 => ! ;; !!null abc => ! ;; !!null "" => null ;; !!null '' => null ;; !!null true => !
!!null "true" => ! ;; !!null yes => ! ;; !!null ~ => null ;; !!null null => null ;; !!null 0777 => !
!!null 18446744073709551615 => ! ;; !!null .inf => ! ;; !!null aGVsbG8= => ! ;; !!null "aGVs\nbG8=" => !
!!null aGVsbG8 => ! ;; !!null /w== => ! ;; !!null a=== => ! ;; !!null QQ==QQ== => ! ;; !!null 2024-01-01 => !
!!null 2024-13-01 => ! ;; !!null 2001-12-14 21:59:43.10 => ! ;; !!null 2024-01-01T1:2:3Z => ! ;; !!null xyz => !
!!null => null ;; !!null "." => ! ;; !!null 0x1F => ! ;; !!null -0 => ! ;; !!null << => ! ;; !!binary 3 => !
!!binary "3" => ! ;; !!binary 3.0 => ! ;; !!binary 3.5 => ! ;; !!binary 1e3 => ! ;; !!binary abc => !
!!binary "" => "" ;; !!binary '' => "" ;; !!binary true => "���" ;; !!binary "true" => "���"
!!binary yes => ! ;; !!binary ~ => ! ;; !!binary null => "��e" ;; !!binary 0777 => "Ӿ�"
!!binary 18446744073709551615 => "��8��8ӽ���y׭y" ;; !!binary .inf => ! ;; !!binary aGVsbG8= => "hello"
!!binary "aGVs\nbG8=" => "hello" ;; !!binary aGVsbG8 => ! ;; !!binary /w== => "�" ;; !!binary a=== => !
!!binary QQ==QQ== => ! ;; !!binary 2024-01-01 => ! ;; !!binary 2024-13-01 => !
!!binary 2001-12-14 21:59:43.10 => ! ;; !!binary 2024-01-01T1:2:3Z => ! ;; !!binary xyz => ! ;; !!binary => ""
!!binary "." => ! ;; !!binary 0x1F => "�\u001dE" ;; !!binary -0 => ! ;; !!binary << => ! ;; !!timestamp 3 => !
!!timestamp "3" => ! ;; !!timestamp 3.0 => ! ;; !!timestamp 3.5 => ! ;; !!timestamp 1e3 => !
!!timestamp abc => ! ;; !!timestamp "" => ! ;; !!timestamp '' => ! ;; !!timestamp true => !
!!timestamp "true" => ! ;; !!timestamp yes => ! ;; !!timestamp ~ => ! ;; !!timestamp null => !
!!timestamp 0777 => ! ;; !!timestamp 18446744073709551615 => ! ;; !!timestamp .inf => !
!!timestamp aGVsbG8= => ! ;; !!timestamp "aGVs\nbG8=" => ! ;; !!timestamp aGVsbG8 => ! ;; !!timestamp /w== => !
!!timestamp a=== => ! ;; !!timestamp QQ==QQ== => ! ;; !!timestamp 2024-01-01 => "2024-01-01"
!!timestamp 2024-13-01 => ! ;; !!timestamp 2001-12-14 21:59:43.10 => "2001-12-14 21:59:43.10"
!!timestamp 2024-01-01T1:2:3Z => "2024-01-01T1:2:3Z" ;; !!timestamp xyz => ! ;; !!timestamp => !
!!timestamp "." => ! ;; !!timestamp 0x1F => ! ;; !!timestamp -0 => ! ;; !!timestamp << => ! ;; !custom 3 => "3"
!custom "3" => "3" ;; !custom true => "true" ;; !custom ~ => "~" ;; !custom << => "<<" ;; !!custom 3 => "3"
!!custom "3" => "3" ;; !!custom true => "true" ;; !!custom ~ => "~" ;; !!custom << => "<<" ;; ! 3 => "3"
! "3" => "3" ;; ! true => "true" ;; ! ~ => "~" ;; ! => "" ;; ! << => "<<" ;; !!set 3 => "3" ;; !!set "3" => "3"
!!set true => "true" ;; !!set ~ => "~" ;; !!set << => "<<" ;; !!merge 3 => "3" ;; !!merge "3" => "3"
!!merge true => "true" ;; !!merge ~ => "~" ;; !!merge << => "<<" ;; "3" => "3" ;; "true" => "true"
"null" => "null" ;; "" => "" ;; "~" => "~" ;; "0777" => "0777" ;; ".inf" => ".inf" ;; "<<" => "<<"
"yes" => "yes" ;; '3' => "3" ;; 'true' => "true" ;; 'null' => "null" ;; '' => "" ;; '~' => "~"
'0777' => "0777" ;; '.inf' => ".inf" ;; '<<' => "<<" ;; 'yes' => "yes""#;

/// Keys that are not strings; string keys stay unchanged.
const KEYS: &str = r#"on => "true" ;; On => "true" ;; ON => "true" ;; off => "false" ;; Off => "false" ;; OFF => "false"
y => "true" ;; Y => "true" ;; n => "false" ;; N => "false" ;; yes => "true" ;; Yes => "true" ;; YES => "true"
no => "false" ;; No => "false" ;; NO => "false" ;; True => "true" ;; TRUE => "true" ;; False => "false"
FALSE => "false" ;; ~ => ! ;; null => ! ;; Null => ! ;; NULL => ! ;; -0 => "0" ;; +0 => "0" ;; 00 => "0"
000 => "0" ;; 0777 => "511" ;; 0o777 => "511" ;; 0O17 => "15" ;; -0777 => "-511" ;; +0777 => "511" ;; 08 => "8"
09 => "9" ;; 018 => "18" ;; -08 => "-8" ;; 0x1F => "31" ;; 0X1f => "31" ;; -0x10 => "-16" ;; +0x10 => "16"
0x_1F => "31" ;; 0_x1F => "31" ;; 0b101 => "5" ;; 0B101 => "5" ;; -0b101 => "-5" ;; +0b101 => "5"
0b-11 => "-3" ;; 0b+11 => "3" ;; 0b_1 => "1" ;; 0b1_1 => "3" ;; -0b_1_1 => "-3" ;; +12 => "12"
1_000 => "1000" ;; 1__0 => "10" ;; 1_ => "1" ;; +_1 => "1" ;; -_1 => "-1" ;; 12_345_678 => "12345678"
1_000.5 => "1000.5" ;; 1_e3 => "1000" ;; 1e_3 => "1000" ;; 9223372036854775808 => !
-9223372036854775809 => "-9.223372e+18" ;; 18446744073709551615 => ! ;; 18446744073709551616 => "1.8446744e+19"
+9223372036854775807 => "9223372036854775807" ;; +9223372036854775808 => "9.223372e+18"
0xFFFFFFFFFFFFFFFF => ! ;; -0x8000000000000000 => "-9223372036854775808"
0x7FFFFFFFFFFFFFFF => "9223372036854775807"
0b1111111111111111111111111111111111111111111111111111111111111111 => ! ;; 01777777777777777777777 => !
02000000000000000000000 => "2e+21" ;; 99999999999999999999999999 => "1e+26"
123456789012345678901234567890 => "1.2345679e+29" ;; 1e3 => "1000" ;; 1E3 => "1000" ;; 1e+3 => "1000"
1e-3 => "0.001" ;; 12e03 => "12000" ;; 1.e3 => "1000" ;; 1.5e3 => "1500" ;; .5e1 => "5" ;; 1e20 => "1e+20"
1e21 => "1e+21" ;; 1e22 => "1e+22" ;; 1e-400 => "0" ;; 1e308 => ".inf" ;; 9.007199254740993e15 => "9.007199e+15"
1e17 => "1e+17" ;; 1e18 => "1e+18" ;; 1e19 => "1e+19" ;; 12345678901234567890.0 => "1.2345679e+19"
9223372036854775808.0 => "9.223372e+18" ;; 18446744073709551615.0 => "1.8446744e+19"
1.8446744073709552e19 => "1.8446744e+19" ;; 2.5e-7 => "2.5e-07" ;; 1e-7 => "1e-07" ;; 100.0 => "100"
-1.0 => "-1" ;; -0.0 => "-0" ;; 0.0 => "0" ;; 1.0e2 => "100" ;; 0e0 => "0" ;; 00.5 => "0.5" ;; .5 => "0.5"
5. => "5" ;; -.5 => "-0.5" ;; +.5 => "0.5" ;; -5. => "-5" ;; +.5e3 => "500" ;; .5_5 => "0.55" ;; 5._5 => "5.5"
.1e5 => "10000" ;; .0 => "0" ;; .Inf => ".inf" ;; .INF => ".inf" ;; +.inf => ".inf" ;; +.Inf => ".inf"
+.INF => ".inf" ;; -.Inf => "-.inf" ;; -.INF => "-.inf" ;; .NaN => ".nan" ;; .NAN => ".nan" ;; 0x1F => "31"
"3" => "3" ;; "true" => "true" ;; "null" => "null" ;; "" => "" ;; "~" => "~" ;; "0777" => "0777"
".inf" => ".inf" ;; "<<" => "<<" ;; "yes" => "yes" ;; '3' => "3" ;; 'true' => "true" ;; 'null' => "null"
'' => "" ;; '~' => "~" ;; '0777' => "0777" ;; '.inf' => ".inf" ;; '<<' => "<<" ;; 'yes' => "yes"
1234567.5 => "1.2345675e+06" ;; 1e5 => "100000" ;; 1e6 => "1e+06" ;; 1e7 => "1e+07"
123456789.0 => "1.2345679e+08" ;; 1234567.0 => "1.234567e+06" ;; 0.00001 => "1e-05" ;; 1.5e-5 => "1.5e-05"
1e39 => ".inf" ;; -1e39 => "-.inf" ;; 16777217.0 => "1.6777216e+07" ;; 3.4028235e38 => "3.4028235e+38"
100000.0 => "100000" ;; 1000000.0 => "1e+06" ;; 999999.0 => "999999" ;; 1e-50 => "0"
123456700000.0 => "1.234567e+11" ;; 12345678901.5 => "1.2345679e+10" ;; 2e10 => "2e+10" ;; 1e15 => "1e+15"
21e5 => "2.1e+06" ;; 1.25e6 => "1.25e+06""#;
