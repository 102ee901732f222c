package hush

import (
	"math"
	"math/rand"
	"strings"
	"testing"
)

// seeded deals words of a seed, and counts them.
func seeded(seed int64) (*coins, *int) {
	source, count := rand.New(rand.NewSource(seed)), 0
	word := func() uint64 { count++; return source.Uint64() }
	return &coins{word: word, split: split}, &count
}

// wordsDiffer draws reports of all records from the same words, and says whether their number ever depends on the record.
func wordsDiffer(t *testing.T, plan *Plan, records []Record) bool {
	t.Helper()
	for seed := int64(0); seed < 5; seed++ {
		expected := -1
		for _, record := range records {
			coins, count := seeded(seed)
			if _, err := randomise(plan, record, coins); err != nil {
				t.Fatal(err)
			}
			if expected >= 0 && *count != expected {
				return true
			}
			expected = *count
		}
	}
	return false
}

func TestWordsDoNotDependOnTheRecord(t *testing.T) {
	for name, file := range channelFiles(t) {
		plan := mustParse(t, file.Plan)
		var records []Record
		for _, case_ := range file.Good {
			records = append(records, mustRecord(t, case_.Record))
		}
		if wordsDiffer(t, plan, records) {
			t.Errorf("%s: the number of words depends on the record", name)
		}
	}
}

// lazy draws nothing for the first category, as a sampler would that stops early.
type lazy struct{ *subset }

func (l lazy) draw(c *coins, inputs []input) output {
	if inputs[0].index == 0 {
		return output{}
	}
	return l.subset.draw(c, inputs)
}

func TestWordsOfALazySamplerAreNoticed(t *testing.T) {
	plan := mustParse(t, channelFiles(t)["channel-grr.json"].Plan)
	for i := range plan.questions {
		plan.questions[i].channel = lazy{plan.questions[i].channel.(*subset)}
	}
	if !wordsDiffer(t, plan, []Record{{"two": "yes", "ten": 0, "many": 0}, {"two": "no", "ten": 1, "many": 1}}) {
		t.Error("a sampler that draws less for one category was not noticed")
	}
}

// fused is split as a compiler makes it that fuses the product with the difference.
func fused(u float64, n int) (int, float64) {
	s := least(int(float64(u*float64(n))), n-1)
	return s, math.FMA(u, float64(n), -float64(s))
}

func TestRoundingVectorsCatchFusing(t *testing.T) {
	files := 0
	for name, file := range channelFiles(t) {
		if !strings.HasPrefix(name, "channel-rounding-") {
			continue
		}
		files++
		plan := mustParse(t, file.Plan)
		caught := 0
		for _, case_ := range file.Good {
			coins, _ := given(t, case_.Words)
			coins.split = fused
			report, err := randomise(plan, mustRecord(t, case_.Record), coins)
			if err != nil {
				t.Fatal(err)
			}
			if string(report.JSON()) != case_.JSON {
				caught++
			}
		}
		t.Logf("%s: %d of %d reports differ", name, caught, len(file.Good))
		if caught == 0 {
			t.Errorf("%s does not notice fused arithmetic", name)
		}
	}
	if files == 0 {
		t.Error("there are no vectors about rounding")
	}
}

func TestSystemRandomness(t *testing.T) {
	file := channelFiles(t)["channel-mixed-k2.json"]
	plan := mustParse(t, file.Plan)
	ids := map[string]bool{}
	for i := 0; i < 200; i++ {
		report, err := Randomise(plan, mustRecord(t, file.Good[i%len(file.Good)].Record))
		if err != nil {
			t.Fatal(err)
		}
		roundTrip(t, plan, report)
		ids[report.ID()] = true
	}
	if len(ids) != 200 {
		t.Error("ids are repeated")
	}
}

func TestNoRandomness(t *testing.T) {
	file := channelFiles(t)["channel-grr.json"]
	plan := mustParse(t, file.Plan)
	report, err := randomise(plan, mustRecord(t, file.Good[0].Record), readerCoins(strings.NewReader("too short")))
	if report != nil || err == nil || !strings.Contains(err.Error(), "no randomness") {
		t.Errorf("%v, %v", report, err)
	}
}
