package hush

import (
	"errors"
	"time"
)

const (
	secondsOfDay = 86400
	dateForm     = "2006-01-02"
)

// dayOf is the number of days from 1970-01-01 to a date of the years 1 to 9999, written as 2006-01-02.
func dayOf(text string) (float64, bool) {
	if !shaped(text, "0000-00-00") || text[:4] == "0000" {
		return 0, false
	}
	date, err := time.Parse(dateForm, text)
	return float64(date.Unix() / secondsOfDay), err == nil // midnight, so no remainder is lost before 1970 either
}

// secondOf is the number of seconds from midnight to a time of day, written as 15:04 or 15:04:05.
func secondOf(text string) (int, bool) {
	filled := [8]byte{5: ':', '0', '0'} // one without seconds takes the same steps
	if len(text) != len("00:00") && len(text) != len(filled) {
		return 0, false
	}
	copy(filled[:], text)
	whole := string(filled[:])
	if !shaped(whole, "00:00:00") {
		return 0, false
	}
	hour, minute, second := digits(whole[0:2]), digits(whole[3:5]), digits(whole[6:8])
	return 3600*hour + 60*minute + second, hour < 24 && minute < 60 && second < 60
}

// shaped says whether a text has digits where the form has them, and is equal to it elsewhere.
func shaped(text, form string) bool {
	if len(text) != len(form) {
		return false
	}
	good := true
	for i := range form {
		digit := '0' <= text[i] && text[i] <= '9'
		good = good && (form[i] == '0' && digit || form[i] != '0' && text[i] == form[i])
	}
	return good
}

func digits(text string) int { return 10*int(text[0]-'0') + int(text[1]-'0') }

// count is the number of a date or a time of day.
func (a *attribute) count(value any) (float64, error) {
	text, _ := value.(string)
	if a.date {
		day, ok := dayOf(text)
		if !ok {
			return 0, errors.New("it must be a date, such as 2020-12-31")
		}
		return day, nil
	}
	second, ok := secondOf(text)
	if !ok {
		return 0, errors.New("it must be a time of day, such as 07:30 or 07:30:00")
	}
	return float64(a.first + modulo(second/a.step-a.first, secondsOfDay/a.step)), nil
}

// written is a bound in the words of the plan.
func (a *attribute) written(bound float64) string {
	switch {
	case a.date:
		return time.Unix(int64(bound)*secondsOfDay, 0).UTC().Format(dateForm)
	case a.step > 0:
		return time.Unix(int64(bound)*int64(a.step), 0).UTC().Format("15:04:05")
	}
	return formatFloat(bound)
}

func modulo(x, n int) int { return (x%n + n) % n }

// readDates reads the bounds of dates.
func (a *attribute) readDates(f *fields) {
	a.date, a.whole = true, true
	var low, high bool
	a.low, low = dayOf(f.text("low"))
	a.high, high = dayOf(f.text("high"))
	f.rule(low && high && a.low < a.high, "low must be a date before high, both written as 2020-12-31")
}

// readTimes reads the bounds and the step of times of day. A range may go past midnight.
func (a *attribute) readTimes(f *fields) {
	a.whole, a.step = true, f.size("step", 1, secondsOfDay/2)
	f.rule(a.step > 0 && secondsOfDay%a.step == 0, "step must divide the day")
	low, high := f.text("low"), f.text("high")
	first, good := secondOf(low)
	last, fine := secondOf(high)
	f.rule(good && fine && len(low) == 8 && len(high) == 8, "bounds must be times of day, written as 07:30:00")
	if f.err != nil {
		return
	}
	f.rule(first%a.step == 0 && last%a.step == 0 && first != last, "low and high must differ, and be whole numbers of steps")
	steps, start := secondsOfDay/a.step, first/a.step
	span := modulo(last/a.step-start, steps)
	a.low, a.high = float64(start), float64(start+span)
	a.first = start - (steps-span-1)/2
}
