package hush

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand"
	"sort"
	"strings"
	"testing"
	"time"
)

// aboutText is an attribute that is a text of 64 characters, of an alphabet or, if it is empty, of Unicode.
func aboutText(alphabet string) string {
	var letters any
	rows := []string{strings.Repeat("9", len([]rune(alphabet))+1)}
	if alphabet != "" {
		letters = alphabet
	} else {
		row := strings.Repeat("9", 257)
		rows = []string{row, row, row, row}
	}
	text, err := json.Marshal(map[string]any{"kind": "text", "name": "t", "length": 64, "alphabet": letters, "case": "lower",
		"code": rows, "bits": 128, "optional": true})
	if err != nil {
		panic(err)
	}
	return string(text)
}

func mustAttribute(t *testing.T, text string) *attribute {
	t.Helper()
	a, err := readAttribute(mustRead(t, []byte(text)))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// widest is an alphabet of 256 letters, all over Unicode.
func widest() string {
	letters := []rune("abcdefghijklmnopqrstuvwxyz")
	for r := rune(0x4e00); len(letters) < 256; r += 64 {
		letters = append(letters, r)
	}
	return string(letters)
}

// unlike are texts that are as unlike as can be: none, short and long, dropped, wide, and of many marks.
func unlike(alphabet string) []any {
	texts := []any{nil, "", "abcd", " a ", strings.Repeat("y", 64), strings.Repeat("y", 256), strings.Repeat("7", 256), strings.Repeat("x", mostText),
		strings.Repeat("\U0001f600", 256), strings.Repeat("e\u0301", 128), strings.Repeat("a\u0301\u0323\u0307", 64), "a" + strings.Repeat("\u0323\u0301", 100),
		strings.Repeat("ᾂ", 256), strings.Repeat("ΑΣ'", 80), strings.Repeat("İ", 256), strings.Repeat("각", 256), strings.Repeat(" ", 256)}
	if letters := []rune(alphabet); len(letters) > 0 {
		texts = append(texts, strings.Repeat(string(letters[len(letters)-1]), 256), strings.Repeat(string(letters[0]), 256))
	}
	return texts
}

// lookups counts how often tables are looked at for a text: that of the alphabet, and that of Unicode.
func lookups(t *testing.T, a *attribute, encode func(value any) error, value any) [2]int {
	t.Helper()
	var count [2]int
	place, of := a.text.place, a.text.normaliser.of
	defer func() { a.text.place, a.text.normaliser.of = place, of }()
	a.text.place = func(r rune) int { count[0]++; return place(r) }
	a.text.normaliser.of = func(r rune) *form { count[1]++; return of(r) }
	if err := encode(value); err != nil {
		t.Fatal(err)
	}
	return count
}

func TestEveryTextTakesAsManyLookups(t *testing.T) {
	for _, alphabet := range []string{"", "abcdefghijklmnopqrstuvwxyz ", widest()} {
		a := mustAttribute(t, aboutText(alphabet))
		whole := func(value any) error { _, err := a.encode(value); return err }
		// The twin looks at what is there, as a client would that knows nothing of time.
		sparing := func(value any) error {
			text, _ := value.(string)
			letters := firstRunes(text, lookedAt*a.text.length)
			_, _ = a.text.code(a.text.normal(letters, len(letters)))
			return nil
		}
		expected, noticed := lookups(t, a, whole, ""), false
		// Unicode's table is looked at for each of 256 characters twice, and for each of their 1024 parts twice.
		if want := 2*256 + 2*4*256; expected[1] != want || alphabet != "" && expected[0] != 256+64 {
			t.Errorf("%v look-ups", expected)
		}
		for i, value := range unlike(alphabet) {
			if found := lookups(t, a, whole, value); found != expected {
				t.Errorf("text %d: %v look-ups, not %v", i, found, expected)
			}
			noticed = noticed || lookups(t, a, sparing, value) != expected
		}
		if !noticed {
			t.Error("a client that looks up what is there is not noticed")
		}
	}
}

func firstRunes(text string, count int) []rune { return []rune(text)[:least(count, len([]rune(text)))] }

const (
	aboutDate    = `{"kind":"date","name":"t","low":"1900-01-01","high":"2020-12-31","out_of_range":"error","optional":true}`
	aboutTime    = `{"kind":"time","name":"t","low":"00:00:00","high":"23:30:00","step":1800,"out_of_range":"error","optional":true}`
	aboutNumber  = `{"kind":"numeric","name":"t","low":0.0,"high":100.0,"out_of_range":"clip","optional":true,"scale":"linear","unit":null}`
	aboutInteger = `{"kind":"integer","name":"t","low":-9.0,"high":100.0,"out_of_range":"error","optional":true}`
	aboutCode    = `{"kind":"categorical","name":"t","values":[1,2],"optional":true}`
	aboutAnswer  = `{"kind":"categorical","name":"t","values":["yes","no"],"optional":true}`
	aboutSome    = `{"kind":"choices","name":"t","values":["a","b","c","d"],"most":3,"optional":true}`
)

func TestAStandInIsEncodedForAMissingNumber(t *testing.T) {
	for _, text := range []string{aboutDate, aboutTime, aboutNumber, aboutInteger} {
		a := mustAttribute(t, text)
		if found, err := a.encode(nil); err != nil || found.missing != 1 || found.u != 0 {
			t.Errorf("%s: %v, %v", text, found, err)
		}
		if found, err := a.encode(a.standIn); err != nil || found.missing != 0 || found.u != 0 {
			t.Errorf("%s: %v, %v", text, found, err)
		}
		a.standIn = "no number" // it is read, so it is refused
		if _, err := a.encode(nil); err == nil {
			t.Errorf("%s: nothing stands in for a missing number", text)
		}
	}
}

// watched are the times of two things that are done in random order, in nanoseconds.
func watched(rounds int, one, other func()) [2][]float64 {
	var times [2][]float64
	for i := 0; i < rounds; i++ {
		which := rand.Intn(2)
		do := []func(){one, other}[which]
		start := time.Now()
		do()
		took := time.Since(start)
		if i >= rounds/10 { // the first ones warm up
			times[which] = append(times[which], float64(took))
		}
	}
	return times
}

// shows says whether times tell which of two things was done. Two measures must exceed their limits (decision 29): the sum of
// the ranks of the times, by six standard deviations (chance does so once in 1e8 times), and the difference of their
// middles and of their lower quarters, by 5 %. The second is about the same on a busy machine, where the first is small.
func shows(times [2][]float64) (bool, string) {
	type timed struct {
		time  float64
		which int
	}
	var all []timed
	for which := range times {
		sort.Float64s(times[which])
		for _, one := range times[which] {
			all = append(all, timed{one, which})
		}
	}
	rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] }) // equal times have ranks at random
	sort.SliceStable(all, func(i, j int) bool { return all[i].time < all[j].time })
	n, m, sum := float64(len(times[0])), float64(len(times[1])), 0.0
	for rank, one := range all {
		sum += float64((rank + 1) * one.which)
	}
	deviations := math.Abs(sum-m*(n+m+1)/2) / math.Sqrt(n*m*(n+m+1)/12)
	apart := func(part int) float64 {
		a, b := times[0][len(times[0])*part/8], times[1][len(times[1])*part/8]
		return math.Abs(a-b) / math.Min(a, b)
	}
	said := fmt.Sprintf("%.1f deviations, middles differ by %.1f %%, quarters by %.1f %%", deviations, 100*apart(4), 100*apart(2))
	return deviations > 6 && apart(4) > .05 && apart(2) > .05, said
}

// planAbout asks for an attribute through a view that has two categories, and a third one for what is missing.
func planAbout(t *testing.T, about, view string) *Plan {
	t.Helper()
	plan, err := readPlan(mustRead(t, []byte(`{"after":null,"epsilon":"1.0","hush":2,"k":1,"questions":[{"channel":`+
		`{"kind":"subset","size":3,"threshold":"10627480729818066791","weight":1},"views":[{`+view+`,"of":["t"]}]}],`+
		`"schema":[`+about+`],"title":"","weights":null}`)))
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// cheap deals words that take no time, so that what depends on the record is a larger part of it.
func cheap() *coins {
	state := uint64(1)
	word := func() uint64 { state = mixed(state, 0, 0); return state }
	return &coins{word: word, split: split}
}

// repeated does something a number of times, as a short time is measured badly.
func repeated(times int, do func()) func() {
	return func() {
		for i := 0; i < times; i++ {
			do()
		}
	}
}

func TestTimeSaysNothingAboutAValue(t *testing.T) {
	if testing.Short() {
		t.Skip("a stop-watch needs a machine that is not emulated")
	}
	const start, half, first = `"kind":"prefix","chunks":[8],"points":2`, `"kind":"bands","cuts":[10.0]`, `"kind":"value"`
	letters, many := aboutText("abcdefghijklmnopqrstuvwxyz "), aboutText(widest())
	for name, case_ := range map[string]struct {
		plan   *Plan
		values [2]any
	}{
		"a text of Unicode, missing or not":      {planAbout(t, aboutText(""), start), [2]any{nil, strings.Repeat("y", 64)}},
		"a text of Unicode, short or wide":       {planAbout(t, aboutText(""), start), [2]any{"a", strings.Repeat("\U0001f600", 256)}},
		"a text of Unicode, marks or none":       {planAbout(t, aboutText(""), start), [2]any{"a", strings.Repeat("a\u0301\u0323\u0307", 64)}},
		"a text of letters, missing or not":      {planAbout(t, letters, start), [2]any{nil, strings.Repeat("y", 64)}},
		"a text of many letters, missing or not": {planAbout(t, many, start), [2]any{nil, strings.Repeat("y", 64)}},
		"a text of many letters, in or out":      {planAbout(t, many, start), [2]any{strings.Repeat("a", 256), strings.Repeat("7", 256)}},
		"a date":                                 {planAbout(t, aboutDate, half), [2]any{nil, "1999-12-31"}},
		"a time of day":                          {planAbout(t, aboutTime, half), [2]any{nil, "17:30"}},
		"a number of JSON":                       {planAbout(t, aboutNumber, half), [2]any{nil, json.Number("7.5")}},
		"a number":                               {planAbout(t, aboutNumber, half), [2]any{nil, 7.5}},
		"a whole number":                         {planAbout(t, aboutInteger, half), [2]any{nil, json.Number("42")}},
		"a code":                                 {planAbout(t, aboutCode, first), [2]any{nil, json.Number("2")}},
		"a category":                             {planAbout(t, aboutAnswer, first), [2]any{nil, "no"}},
		"choices":                                {planAbout(t, aboutSome, `"kind":"member","value":"a"`), [2]any{nil, []any{"a", "d", "c"}}},
	} {
		plan, words := case_.plan, cheap()
		times, rounds := 20, 1000
		if plan.schema[0].text != nil {
			times, rounds = 4, 600
		}
		report := func(value any) func() {
			record := Record{"t": value}
			return repeated(times, func() {
				if _, err := randomise(plan, record, words); err != nil {
					t.Fatal(err)
				}
			})
		}
		found, said := shows(watched(rounds, report(case_.values[0]), report(case_.values[1])))
		t.Logf("%s: %s", name, said)
		if found {
			t.Errorf("%s: its time shows: %s", name, said)
		}
	}
}

func TestAStopWatchNoticesWhatIsLeftOut(t *testing.T) {
	if testing.Short() {
		t.Skip("a stop-watch needs a machine that is not emulated")
	}
	words := cheap()
	asked := planAbout(t, aboutText("abcdefghijklmnopqrstuvwxyz "), `"kind":"prefix","chunks":[8],"points":2`)
	// It takes small letters of the characters that are there once more, which is less than a client would that did all for these alone.
	sparing := func(text string) func() {
		a := asked.schema[0].text
		return repeated(4, func() {
			letters := firstRunes(text, lookedAt*a.length)
			a.normaliser.formC(letters, len(letters), true)
			_, _ = randomise(asked, Record{"t": text}, words)
		})
	}
	date := planAbout(t, aboutDate, `"kind":"bands","cuts":[10.0]`)
	returns := func(value any) func() {
		return repeated(20, func() {
			if value != nil {
				_, _ = date.schema[0].encode(value)
			}
			_, _ = randomise(date, Record{"t": nil}, words)
		})
	}
	for name, twin := range map[string][2]func(){
		"a text that is looked at while it lasts":  {sparing("a"), sparing(strings.Repeat("y", 256))},
		"a date that is not read if it is missing": {returns(nil), returns("1999-12-31")},
	} {
		found, said := shows(watched(800, twin[0], twin[1]))
		t.Logf("%s: %s", name, said)
		if !found {
			t.Errorf("%s is not noticed: %s", name, said)
		}
	}
}
