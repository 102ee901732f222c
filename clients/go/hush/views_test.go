package hush

import (
	"math"
	"strings"
	"testing"
)

// banded is the text of a plan with this many questions about bands of one number.
func banded(count int) string {
	var questions []string
	for i := 0; i < count; i++ {
		questions = append(questions, `{"channel":{"kind":"subset","size":2,"threshold":"13485650502877570762","weight":1},"views":[{"cuts":[`+
			formatFloat((float64(i)+0.5)/float64(count))+`],"kind":"bands","of":["x"]}]}`)
	}
	return `{"after":null,"epsilon":"1.0","hush":2,"k":1,"questions":[` + strings.Join(questions, ",") +
		`],"schema":[{"high":1.0,"kind":"numeric","low":0.0,"name":"x","optional":false,"out_of_range":"error","scale":"linear","unit":null}],"title":"","weights":null}`
}

func TestNumberOfQuestions(t *testing.T) {
	mustParse(t, banded(mostQuestions))
	if _, err := ParsePlan([]byte(banded(mostQuestions + 1))); err == nil || !strings.Contains(err.Error(), "at most 4096 questions") {
		t.Error(err)
	}
}

// 2049 questions that 2^53 people answered have 2^64 + 2^53 answers: more than 64 bits hold.
func TestAnswersOfATallyDoNotOverflow(t *testing.T) {
	plan := mustParse(t, banded(2049))
	tally := NewTally(plan)
	tally.n = mostPeople
	for i := range tally.answered {
		tally.answered[i], tally.counts[i][0] = mostPeople, mostPeople
	}
	if err := tally.check(); err == nil {
		t.Error("it was taken, though everybody answers one question")
	}
}

// cut is the text of a plan with a question about this many bands.
func cut(count int) string {
	var cuts []string
	for i := 0; i < count; i++ {
		cuts = append(cuts, formatFloat((float64(i)+0.5)/float64(count)))
	}
	return strings.NewReplacer(`[0.5]`, `[`+strings.Join(cuts, ",")+`]`, `"size":2`, `"size":`+string(number(count+1)),
		`"threshold":"13485650502877570762"`, `"threshold":"10000000000000000000"`, `"1.0","hush"`, `"16.0","hush"`).Replace(banded(1))
}

func TestNumberOfCuts(t *testing.T) {
	mustParse(t, cut(mostCuts))
	if _, err := ParsePlan([]byte(cut(mostCuts + 1))); err == nil || !strings.Contains(err.Error(), "cuts must be 1 to 4095") {
		t.Error(err)
	}
}

func TestFloatsOfViewsAreCanonical(t *testing.T) {
	text := cut(2)
	for _, other := range []string{`[0,0.75]`, `[0.250,0.75]`, `[25e-2,0.75]`} {
		if _, err := ParsePlan([]byte(edited(t, text, `[0.25,0.75]`, other))); err == nil || !strings.Contains(err.Error(), "canonical") {
			t.Errorf("%s: %v", other, err)
		}
	}
	mustParse(t, edited(t, text, `[0.25,0.75]`, `[0.0,0.75]`))
}

// Numbers on a cut, beside it and missing ones, compared with the definition.
func TestBands(t *testing.T) {
	cuts := []float64{0, 0.25, 0.75}
	plan := mustParse(t, edited(t, cut(3), `[0.16666666666666666,0.5,0.8333333333333334]`, `[0.0,0.25,0.75]`))
	for _, x := range []float64{0, math.SmallestNonzeroFloat64, 0.25, math.Nextafter(0.25, 1), math.Nextafter(0.25, 0), 0.75, 0.7500001, 1} {
		inputs, err := plan.encode(Record{"x": x})
		if err != nil {
			t.Fatal(err)
		}
		band := 0
		for _, cut := range cuts {
			if x > cut {
				band++
			}
		}
		if got := plan.questions[0].see(inputs)[0].index; got != band {
			t.Errorf("%v is in band %d, not %d", x, got, band)
		}
	}
}

func TestGroupsOfSets(t *testing.T) {
	letters := alphabet{size: 9, set: true, members: 2, group: 3}
	for members, good := range map[[2]int]bool{{0, 3}: true, {2, 3}: true, {5, 6}: true, {0, 2}: false, {1, 2}: false, {6, 8}: false} {
		set := make([]byte, 9)
		set[members[0]], set[members[1]] = 1, 1
		if _, err := letters.check(set); (err == nil) != good {
			t.Errorf("%v: %v", members, err)
		}
	}
	if letters.checkCounts(2, []uint64{1, 0, 1, 1, 0, 0, 0, 0, 1}) != nil {
		t.Error("counts of two sets were refused")
	}
	if letters.checkCounts(2, []uint64{1, 1, 1, 1, 0, 0, 0, 0, 0}) == nil {
		t.Error("a group was counted more often than there were answers")
	}
}
