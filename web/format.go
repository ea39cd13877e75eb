package web

import (
	"strconv"
	"strings"
	"time"

	"github.com/bojanz/currency"

	"gpupool/domain"
	"gpupool/domain/money"
	"gpupool/domain/pool"
	"gpupool/views/lang"
	"gpupool/views/ui"
)

// format says figures in the viewer's language, zone and the pool's currency. It is the only place where an amount,
// a quantity or an instant becomes text.
type format struct {
	lang.Printer
	zone     *time.Location
	currency money.Currency
	types    map[pool.ClassID]string // names of the GPU types
}

// typeName is the name of a GPU type.
func (f format) typeName(id pool.ClassID) string { return named(f.types, id) }

// typeNames are the names of GPU types, in the order given.
func (f format) typeNames(ids []pool.ClassID) string {
	all := make([]string, len(ids))
	for i, id := range ids {
		all[i] = f.typeName(id)
	}
	return strings.Join(all, " / ")
}

// known is what every page needs and seldom changes. It is shared: never change it.
type known struct {
	settings domain.Settings
	orgs     []domain.Organisation
	types    map[pool.ClassID]string // names of the GPU types
}

// readKnown reads it once for all requests until something of it changes. A pool that nobody has set up has the
// settings that it would begin with.
func readKnown(tx domain.Tx) (known, error) {
	v, err := tx.Memo("known to pages", func() (any, error) {
		k := known{types: map[pool.ClassID]string{}}
		var err error
		if k.settings, err = tx.Settings(); err != nil {
			return k, err
		}
		if k.orgs, err = tx.Orgs(); err != nil {
			return k, err
		}
		all, err := tx.Classes()
		for _, c := range all {
			k.types[c.ID] = c.Name
		}
		return k, err
	})
	if domain.CodeOf(err) == domain.NotFound && err != nil {
		return known{settings: domain.DefaultSettings(tx.Now())}, nil
	}
	k, _ := v.(known)
	return k, err
}

// money is an amount with its currency: "1,234.50 EUR".
func (f format) money(a money.Amount) string {
	return f.decimal(f.currency.Format(a), f.currency.Exponent) + " " + f.currency.Code
}

// figure is an amount without its currency, for columns whose heading names it.
func (f format) figure(a money.Amount) string {
	return f.decimal(f.currency.Format(a), f.currency.Exponent)
}

// price is a price per GPU-hour with its currency and no more digits than it needs: "2.20 EUR".
func (f format) price(p money.Price) string {
	return f.decimal(f.currency.FormatPrice(p), f.currency.Exponent) + " " + f.currency.Code
}

// decimal writes an exact decimal text with the separators of the language.
func (f format) decimal(text string, least int) string {
	a, err := currency.NewAmount(text, f.currency.Code)
	if err != nil {
		return text
	}
	out := currency.NewFormatter(currency.NewLocale(string(f.Lang())))
	out.CurrencyDisplay = currency.DisplayNone
	out.MinDigits, out.MaxDigits = uint8(least), 12
	return strings.TrimSpace(out.Format(a))
}

// hours is use in GPU-hours, without trailing zeros: "1,234.5".
func (f format) hours(g pool.GPUMillis) string {
	whole, frac, _ := strings.Cut(g.Hours(), ".")
	frac = strings.TrimRight(frac, "0")
	n, _ := strconv.ParseInt(whole, 10, 64) // Hours writes a number
	text := f.count(n)
	if n == 0 && strings.HasPrefix(whole, "-") {
		text = "-0"
	}
	if frac != "" {
		text += "." + frac
	}
	return text
}

// count is a whole number with the separators of the language.
func (f format) count(n int64) string { return f.T("%d", n) }

// clock is an instant with its date and the zone named; the ISO form shows on hover. Empty for 0 and Never.
func (f format) clock(i pool.Instant) ui.Time {
	if i == 0 || i == pool.Never {
		return ui.Time{}
	}
	t := i.In(f.zoneOrUTC())
	return ui.Time{ISO: iso(i), Text: f.date(t) + ", " + t.Format("15:04 MST")}
}

// business is an instant that the pool's zone decides, such as the demo's clock or a month's end: it is never shown
// in the viewer's own zone.
func (f format) business(i pool.Instant, zone *time.Location) ui.Time {
	if i == 0 || i == pool.Never {
		return ui.Time{}
	}
	t := i.In(zone)
	return ui.Time{ISO: iso(i), Text: f.T(t.Weekday().String()[:3]) + " " + f.date(t) + ", " + t.Format("15:04 MST")}
}

// at is an instant as part of a sentence: "26 Nov 2026, 14:05 CET".
func (f format) at(i pool.Instant) string {
	if i == 0 || i == pool.Never {
		return ""
	}
	t := i.In(f.zoneOrUTC())
	return f.date(t) + ", " + t.Format("15:04 MST")
}

// day is the date of an instant in the viewer's zone: "26 Nov 2026".
func (f format) day(i pool.Instant) string {
	if i == 0 || i == pool.Never {
		return ""
	}
	return f.date(i.In(f.zoneOrUTC()))
}

func (f format) date(t time.Time) string {
	return strconv.Itoa(t.Day()) + " " + f.T(t.Month().String()[:3]) + " " + strconv.Itoa(t.Year())
}

// month is a billing month: "November 2026".
func (f format) month(m pool.Month) string { return f.T(m.Month.String()) + " " + strconv.Itoa(m.Year) }

// span is a length of time in its two largest units: "2 d 3 h", "14 min", "5 s".
func (f format) span(d time.Duration) string {
	if d < 0 {
		d = 0
	}
	units := []struct {
		of   time.Duration
		name string
	}{{24 * time.Hour, "%d d"}, {time.Hour, "%d h"}, {time.Minute, "%d min"}, {time.Second, "%d s"}}
	var parts []string
	for _, u := range units {
		n := int64(d / u.of)
		d -= time.Duration(n) * u.of
		if n > 0 && len(parts) < 2 {
			parts = append(parts, f.T(u.name, n))
		} else if len(parts) > 0 {
			break
		}
	}
	if len(parts) == 0 {
		return f.T("%d s", 0)
	}
	return strings.Join(parts, " ")
}

// percent of a whole, rounded down; empty for a whole of zero.
func (f format) percent(part, whole int64) string {
	if whole <= 0 {
		return ""
	}
	return f.T("%d %%", part*100/whole)
}

func (f format) zoneOrUTC() *time.Location {
	if f.zone == nil {
		return time.UTC
	}
	return f.zone
}

// iso is RFC 3339 in UTC to the second.
func iso(i pool.Instant) string { return i.Time().Format(time.RFC3339) }
