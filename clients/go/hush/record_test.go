package hush

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
)

const mixedPlan = `{"after":null,"epsilon":"1.0","hush":2,"k":1,"questions":[` +
	`{"channel":{"kind":"window","levels":"even","optional":false,"size":2,"threshold":"13485650502876135424","width":1},"views":[{"kind":"value","of":["x"]}]},` +
	`{"channel":{"kind":"subset","size":3,"threshold":"10627480729818066791","weight":1},"views":[{"kind":"value","of":["n"]}]},` +
	`{"channel":{"kind":"subset","size":3,"threshold":"10627480729818066791","weight":1},"views":[{"kind":"value","of":["t"]}]}],` +
	`"schema":[{"high":1.0,"kind":"numeric","low":0.0,"name":"x","optional":false,"out_of_range":"error","scale":"linear","unit":null},` +
	`{"kind":"categorical","name":"n","optional":true,"values":[0,1]},` +
	`{"kind":"categorical","name":"t","optional":true,"values":["","é"]}],"title":"","weights":null}`

func TestTypesOfRecords(t *testing.T) {
	plan := mustParse(t, mixedPlan)
	for _, case_ := range []struct {
		value any
		name  string
		good  bool
		index int
	}{
		{json.Number("1"), "x", true, 0}, {json.Number("1.0"), "x", true, 0}, {json.Number("1e-400"), "x", true, 0},
		{1, "x", true, 0}, {uint8(1), "x", true, 0}, {float32(0.5), "x", true, 0}, {math.Copysign(0, -1), "x", true, 0},
		{true, "x", false, 0}, {"1", "x", false, 0}, {nil, "x", false, 0}, {math.NaN(), "x", false, 0},
		{json.Number("1e400"), "x", false, 0}, {json.Number("0x1"), "x", false, 0}, {json.Number("inf"), "x", false, 0},
		{json.Number("1 "), "x", false, 0}, {[]any{}, "x", false, 0}, {uint64(math.MaxUint64), "x", false, 0},
		{json.Number("1"), "n", true, 1}, {json.Number("-0"), "n", true, 0}, {1, "n", true, 1}, {nil, "n", true, 2},
		{json.Number("1.0"), "n", false, 0}, {json.Number("1e0"), "n", false, 0}, {1.0, "n", false, 0}, {true, "n", false, 0},
		{"1", "n", false, 0}, {json.Number("18446744073709551617"), "n", false, 0}, {uint64(1 << 63), "n", false, 0},
		{"", "t", true, 0}, {"é", "t", true, 1}, {nil, "t", true, 2}, {"e\u0301", "t", false, 0}, {"(missing)", "t", false, 0},
		{"\x00", "t", false, 0}, {strings.Repeat("é", 600), "t", false, 0}, {json.Number("1"), "t", false, 0}, {false, "t", false, 0},
	} {
		record := Record{"x": 0.5, "n": nil}
		record[case_.name] = case_.value
		inputs, err := plan.encode(record)
		if (err == nil) != case_.good {
			t.Errorf("%s: %#v: %v", case_.name, case_.value, err)
			continue
		}
		if err != nil && !strings.Contains(err.Error(), `attribute "`+case_.name+`": `) {
			t.Errorf("%s: %#v: the error does not name it: %v", case_.name, case_.value, err)
		}
		if i := map[string]int{"x": 0, "n": 1, "t": 2}[case_.name]; err == nil && inputs[i].index != case_.index {
			t.Errorf("%s: %#v is category %d", case_.name, case_.value, inputs[i].index)
		}
		if err == nil && math.Signbit(inputs[0].u) {
			t.Errorf("%#v becomes a negative zero", case_.value)
		}
	}
}

func TestClip(t *testing.T) {
	plan := mustParse(t, strings.Replace(mixedPlan, `"out_of_range":"error"`, `"out_of_range":"clip"`, 1))
	for value, u := range map[any]float64{-1.5: 0, 0.25: 0.25, 7: 1, json.Number("1e308"): 1, uint64(math.MaxUint64): 1,
		json.Number("1" + strings.Repeat("0", 400)): 1, json.Number("-1" + strings.Repeat("0", 400)): 0} {
		inputs, err := plan.encode(Record{"x": value})
		if err != nil || inputs[0].u != u {
			t.Errorf("%v becomes %v, %v", value, inputs, err)
		}
	}
	for _, value := range []any{math.Inf(1), math.NaN(), json.Number("1e400")} {
		if plan.Check(Record{"x": value}) == nil {
			t.Errorf("%v was taken", value)
		}
	}
}

func TestErrorsHaveNoValues(t *testing.T) {
	plan := mustParse(t, mixedPlan)
	for _, value := range []any{7731.5, 7731, "7731", json.Number("7731"), json.Number("7731.5"), []any{"7731"}, object{"7731": 7731}} {
		for _, name := range plan.Names() {
			record := Record{"x": 0.5}
			record[name] = value
			if err := plan.Check(record); err == nil || strings.Contains(err.Error(), "7731") {
				t.Errorf("%s: %#v: %v", name, value, err)
			}
		}
	}
	// Somebody who swaps names and values gives a value as a name.
	for _, name := range []string{"y", "7731", "\x007731"} {
		if err := plan.Check(Record{"x": 0.5, name: 7731}); err == nil || strings.Contains(err.Error(), name) {
			t.Error(err)
		}
	}
	for _, text := range []string{`{"x":7731`, `{"x":7731,"x":7731}`, `{"x":"\ud8007731"}`, `["7731"]`, `{"x":7731} 7731`, "{\"x\":\"7731\xff\"}"} {
		if _, err := ParseRecord([]byte(text)); err == nil || strings.Contains(err.Error(), "7731") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestSurrogates(t *testing.T) {
	for text, good := range map[string]bool{
		`"\ud83d\ude00"`: true, `"\ud83d"`: false, `"\ude00\ud83d"`: false, `"\ud83d\ud83d\ude00"`: false, `"\\ud83d"`: true,
		`"\ud83dx\ude00"`: false, `"\ud83d\\ude00"`: false, `"A"`: true, `"\ud83d\u0041"`: false, `"\uD83D\uDE00"`: true,
	} {
		if _, err := parse([]byte(text)); (err == nil) != good {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestFloatsAsPythonWritesThem(t *testing.T) {
	for value, text := range map[float64]string{
		0: "0.0", 1: "1.0", -1.5: "-1.5", 1e15: "1000000000000000.0", 1e16: "1e+16", 1e-4: "0.0001", 1e-5: "1e-05",
		123456789012345680: "1.2345678901234568e+17", 5e-324: "5e-324", 1.7976931348623157e308: "1.7976931348623157e+308",
		9999999999999998: "9999999999999998.0", 0.1: "0.1", 1e22: "1e+22", 0.00012345: "0.00012345",
	} {
		if got := formatFloat(value); got != text {
			t.Errorf("%s, not %s", got, text)
		}
	}
}
