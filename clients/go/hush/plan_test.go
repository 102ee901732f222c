package hush

import (
	"errors"
	"math/rand"
	"strconv"
	"strings"
	"testing"
)

// edited is a plan with something replaced that must be there.
func edited(t *testing.T, text string, replacements ...string) string {
	t.Helper()
	for i := 0; i < len(replacements); i += 2 {
		if !strings.Contains(text, replacements[i]) {
			t.Fatalf("the plan has no %s", replacements[i])
		}
	}
	return strings.NewReplacer(replacements...).Replace(text)
}

const additivePlan = `{"after":null,"epsilon":"1.0","hush":2,"k":1,"questions":[{"channel":{"decays":["4961093570831980854","4611686018427387904"],` +
	`"kind":"additive","reach":53,"runs":[[20,2251799813685248],[33,828392201763523]]},"views":[{"kind":"value","of":["x"]}]}],` +
	`"schema":[{"high":1.0,"kind":"numeric","low":0.0,"name":"x","optional":false,"out_of_range":"error","scale":"linear","unit":null}],"title":"","weights":null}`

// Rules that the vectors do not reach, each broken alone.
func TestRulesOfPlans(t *testing.T) {
	optional := channelFiles(t)["channel-optional-duchi.json"].Plan
	long := strings.Repeat("é", 256)
	for _, case_ := range []struct{ text, rule string }{
		{mixedPlan, ""},
		{edited(t, mixedPlan, `"title":""`, `"title":"`+long+`"`), ""},
		{edited(t, mixedPlan, `"title":""`, `"title":"`+long+`e"`), "title must"},
		{edited(t, mixedPlan, `"title":""`, `"title":"a \"quoted\\ title"`), ""},
		{edited(t, mixedPlan, `"title":""`, "\"title\":\"\u061d\""), ""}, // of Unicode 14
		{edited(t, mixedPlan, `"title":""`, `"title":"\u0041"`), "canonical"},
		{edited(t, mixedPlan, `"title":""`, `"title": ""`), "canonical"},
		{edited(t, mixedPlan, `"hush":2,"k":1`, `"k":1,"hush":2`), "canonical"},
		{edited(t, mixedPlan, `"title":""`, `"title":"","title":""`), "repeated"},
		{edited(t, mixedPlan, `"title":""`, `"title":"\ud800"`), "surrogate"},
		{edited(t, mixedPlan, `"hush":2`, `"hush":2.0`), "hush must"},
		{edited(t, mixedPlan, `"k":1`, `"k":4`), "k must"},
		{edited(t, mixedPlan, `"low":0.0`, `"low":-0.0`), "low must"},
		{edited(t, mixedPlan, `"low":0.0`, `"low":0`), "low must"},
		{edited(t, mixedPlan, `"high":1.0`, `"high":1e400`), "high must"},
		{edited(t, mixedPlan, `"high":1.0`, `"high":1e-300`), ""},
		{edited(t, mixedPlan, `"high":1.0`, `"high":9e-301`), "high - low"},
		{edited(t, mixedPlan, `"high":1.0`, `"high":1e+308`, `"low":0.0`, `"low":-1e+308`), "high - low"},
		{edited(t, mixedPlan, `"unit":null`, `"unit":0.5`), "unit must"},
		{edited(t, mixedPlan, `"linear","unit":null`, `"log","unit":0.5`), ""},
		{edited(t, mixedPlan, `"linear","unit":null`, `"log","unit":0.50`), "unit must"},
		{edited(t, mixedPlan, `"linear","unit":null`, `"log","unit":1.0`), "unit must"},
		{edited(t, mixedPlan, `"linear","unit":null`, `"log","unit":0.0`), "unit must"},
		{edited(t, mixedPlan, `"linear"`, `"square"`), "scale must"},
		{edited(t, mixedPlan, `"after":null`, `"after":"`+strings.Repeat("0f", 32)+`"`), ""},
		{edited(t, mixedPlan, `"after":null`, `"after":"`+strings.Repeat("0F", 32)+`"`), "after must"},
		{edited(t, mixedPlan, `"after":null`, `"after":"0f"`), "after must"},
		{edited(t, mixedPlan, `"after":null`, `"after":0`), "after must"},
		{edited(t, mixedPlan, `[0,1]`, `[0,9007199254740991]`), ""},
		{edited(t, mixedPlan, `[0,1]`, `[0,9007199254740992]`), "values must"},
		{edited(t, mixedPlan, `[0,1]`, `[0,"1"]`), "values must"},
		{edited(t, mixedPlan, `[0,1]`, `[0,true]`), "values must"},
		{edited(t, mixedPlan, `[0,1]`, `[0,-0]`), "values must"},
		{edited(t, mixedPlan, `["","é"]`, `["","(missing)"]`), "values must"},
		{edited(t, mixedPlan, `"name":"t"`, `"name":"n"`, `["t"]`, `["n"]`), "name must"},
		{edited(t, mixedPlan, `"name":"t"`, `"name":""`, `["t"]`, `[""]`), "name must"},
		{edited(t, mixedPlan, `["n"]`, `["t"]`, `["t"]`, `["n"]`), ""},
		{edited(t, mixedPlan, `["n"]`, `["t"]`), "same views"},
		{edited(t, mixedPlan, `["n"]`, `["m"]`), "of must name"},
		{edited(t, mixedPlan, `"hush":2`, `"hush":1`), "made anew"},
		{edited(t, mixedPlan, `"hush":2`, `"hush":3`), "hush must"},
		{edited(t, mixedPlan, `"weights":null`, `"weights":[1,1,4294967296]`), ""},
		{edited(t, mixedPlan, `"weights":null`, `"weights":[1,1,4294967297]`), "weights must"},
		{edited(t, optional, `"name":"income","optional":true`, `"name":"income","optional":false`), "which is optional"},
		{edited(t, optional, `"name":"smokes","optional":true`, `"name":"smokes","optional":false`), "with 3 categories"},
		{additivePlan, ""},
		{edited(t, additivePlan, `"4961093570831980854"`, `"4961092471320353078"`), "epsilon"},
		{edited(t, additivePlan, `"4961093570831980854"`, `"5000000000000000000"`), "less likely"},
		{edited(t, additivePlan, `"4611686018427387904"`, `"1"`), "large enough for the ends"},
		{edited(t, additivePlan, `"reach":53`, `"reach":52`), "reach must"},
		{edited(t, additivePlan, `828392201763523`, `2251799813685248`), "weights of runs"},
		{edited(t, additivePlan, `[[20,2251799813685248],[33,828392201763523]]`, `[]`), "must be a run"},
	} {
		_, err := ParsePlan([]byte(case_.text))
		if case_.rule == "" && err != nil {
			t.Errorf("%v\n%s", err, case_.text)
		}
		if case_.rule != "" && (err == nil || !strings.Contains(err.Error(), case_.rule)) {
			t.Errorf("%q expected, but %v\n%s", case_.rule, err, case_.text)
		}
	}
}

func TestOutputsTogether(t *testing.T) {
	// 64 mixtures of two windows of 32768 cells have 4194304 outputs, and one more question is too much.
	window := `{"kind":"window","levels":"even","optional":false,"size":32768,"threshold":"9259400833873739776","width":16384}`
	for count, good := range map[int]bool{64: true, 65: false} {
		var questions, schema []string
		for i := 0; i < count; i++ {
			name := "x" + strconv.Itoa(i)
			questions = append(questions, `{"channel":{"kind":"mixture","parts":[`+window+`,`+window+
				`],"shares":["9223372036854775808","9223372036854775808"]},"views":[{"kind":"value","of":["`+name+`"]}]}`)
			schema = append(schema, `{"high":1.0,"kind":"numeric","low":0.0,"name":"`+name+`","optional":false,"out_of_range":"error","scale":"linear","unit":null}`)
		}
		_, err := ParsePlan([]byte(`{"after":null,"epsilon":"1.0","hush":2,"k":1,"questions":[` + strings.Join(questions, ",") +
			`],"schema":[` + strings.Join(schema, ",") + `],"title":"","weights":null}`))
		if (err == nil) != good {
			t.Errorf("%d questions: %v", count, err)
		}
	}
}

// mutants of values in plans that readers of JSON trip over.
var odd = []string{
	`null`, `true`, `0`, `1`, `-1`, `2`, `3`, `63`, `64`, `65`, `4096`, `32768`, `1e400`, `1.0`, `-0`, `""`, `"1"`, `"0"`, `[]`, `{}`, `[[]]`, `[null]`, `[{}]`,
	`{"kind":"window"}`, `"18446744073709551615"`, `"18446744073709551616"`, `9223372036854775807`, `99999999999999999999`,
	`"even"`, `"window"`, `"subset"`, `[1,1]`, `[[1,1]]`, `["1","1"]`, `"\ud800"`, `[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]`,
}

// mutate changes a text in one of several ways that keep it close to a plan.
func mutate(r *rand.Rand, text []byte) []byte {
	at := r.Intn(len(text))
	end := at + r.Intn(len(text)-at)
	if end > at+60 {
		end = at + r.Intn(60)
	}
	result := append([]byte(nil), text[:at]...)
	switch r.Intn(5) {
	case 0: // another byte
		result = append(append(result, byte(r.Intn(256))), text[at+1:]...)
	case 1: // something left out
		result = append(result, text[end:]...)
	case 2: // something twice
		result = append(append(result, text[at:end]...), text[at:]...)
	case 3: // another digit
		result = append(result, text[at:]...)
		for i := at; i < len(result); i++ {
			if '0' <= result[i] && result[i] <= '9' {
				result[i] = byte('0' + r.Intn(10))
				break
			}
		}
	default: // another value behind a colon, comma or bracket
		for at < len(text)-1 && !strings.ContainsRune(":,[", rune(text[at])) {
			at++
		}
		stop := at + 1
		depth := 0
		for stop < len(text) && (depth > 0 || !strings.ContainsRune(",]}", rune(text[stop]))) {
			switch text[stop] {
			case '[', '{':
				depth++
			case ']', '}':
				depth--
			}
			stop++
		}
		result = append(append(append([]byte(nil), text[:at+1]...), odd[r.Intn(len(odd))]...), text[stop:]...)
	}
	return result
}

// try reads a text that may be a plan. If it is one, it must be as private as it says, and work.
func try(t *testing.T, text []byte, record Record) bool {
	t.Helper()
	defer func() {
		if problem := recover(); problem != nil {
			t.Fatalf("%v: %s", problem, text)
		}
	}()
	plan, err := ParsePlan(text)
	if err != nil {
		return false
	}
	coins, _ := seeded(1)
	if report, err := randomise(plan, record, coins); err == nil {
		roundTrip(t, plan, report)
	}
	return true
}

func TestMutatedPlansNeverPanic(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	taken, tried, each := 0, 0, 400
	if testing.Short() {
		each = 50
	}
	for name, file := range channelFiles(t) {
		if len(file.Plan) > 5000 {
			continue // they have nothing but more of the same
		}
		record := mustRecord(t, file.Good[0].Record)
		for i := 0; i < each; i++ {
			text := mutate(r, []byte(file.Plan))
			for r.Intn(3) == 0 && len(text) > 0 {
				text = mutate(r, text)
			}
			tried++
			if try(t, text, record) {
				taken++
			}
		}
		if !try(t, []byte(file.Plan), record) {
			t.Errorf("%s: the plan itself was refused", name)
		}
	}
	t.Logf("%d of %d were plans", taken, tried)
	if taken == 0 || tried < 10*each {
		t.Error("the mutants are no good")
	}
}

func FuzzParsePlan(f *testing.F) {
	f.Add([]byte(mixedPlan))
	f.Add([]byte(additivePlan))
	f.Fuzz(func(t *testing.T, text []byte) { try(t, text, Record{"x": 0.5}) })
}

func TestMutatedReportsNeverPanic(t *testing.T) {
	r := rand.New(rand.NewSource(2))
	for _, file := range channelFiles(t) {
		if len(file.Plan) > 5000 {
			continue
		}
		plan := mustParse(t, file.Plan)
		coins, _ := given(t, file.Good[0].Words)
		report, err := randomise(plan, mustRecord(t, file.Good[0].Record), coins)
		if err != nil {
			t.Fatal(err)
		}
		tally := NewTally(plan)
		if err := tally.Add(report); err != nil {
			t.Fatal(err)
		}
		each := 100
		if testing.Short() {
			each = 10
		}
		for i := 0; i < each; i++ {
			if other, err := plan.DecodeReport(mutate(r, report.Binary())); err == nil {
				roundTrip(t, plan, other)
			}
			if other, err := plan.DecodeReportJSON(mutate(r, report.JSON())); err == nil {
				roundTrip(t, plan, other)
			}
			if i < 20 {
				if other, err := plan.DecodeTally(mutate(r, tally.Binary())); err == nil {
					tallyRoundTrip(t, plan, other)
				}
				if other, err := plan.DecodeTallyJSON(mutate(r, tally.JSON())); err == nil {
					tallyRoundTrip(t, plan, other)
				}
			}
		}
	}
}

func TestTalliesThatNoReportsGive(t *testing.T) {
	file := channelFiles(t)["channel-grr.json"]
	plan := mustParse(t, file.Plan)
	for change, rule := range map[string]func(*Tally){
		"reports":    func(t *Tally) { t.n++ },
		"answers":    func(t *Tally) { t.answered[0]++ },
		"histogram":  func(t *Tally) { t.counts[0][0]++ },
		"other kind": func(t *Tally) { t.answered[0]++; t.answered[1]--; t.counts[0][0]++ },
	} {
		tally, err := plan.DecodeTallyJSON([]byte(file.Tally.JSON))
		if err != nil {
			t.Fatal(err)
		}
		rule(tally)
		_, fromJSON := plan.DecodeTallyJSON(tally.JSON())
		_, fromBinary := plan.DecodeTally(tally.Binary())
		if fromJSON == nil || fromBinary == nil {
			t.Errorf("%s was taken", change)
		}
	}
	if _, err := ParsePlan([]byte(file.Tally.JSON)); err == nil || errors.Is(err, errCanonical) {
		t.Error(err)
	}
}
