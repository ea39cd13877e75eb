package embedded

import (
	"regexp"
	"strconv"
	"strings"
)

// holds tells whether a constraint is met. resolve gives the value of a
// ${…} target; a target that isn't known meets nothing but is_not_set.
func holds(k constraint, resolve func(string) (string, bool)) bool {
	value := func(t string) (string, bool) {
		if strings.HasPrefix(t, "${") && strings.HasSuffix(t, "}") {
			return resolve(t[2 : len(t)-1])
		}
		return t, true
	}
	l, lok := value(k.LTarget)
	r, rok := value(k.RTarget)
	switch k.Operand {
	case "is_set":
		return lok
	case "is_not_set":
		return !lok
	case "!=", "not":
		return l != r
	}
	if !lok || !rok {
		return false
	}
	switch k.Operand {
	case "", "=", "==", "is":
		return l == r
	case "regexp":
		re, err := regexp.Compile(r)
		return err == nil && re.MatchString(l)
	case "<", "<=", ">", ">=":
		return ordered(l, k.Operand, r)
	case "set_contains", "set_contains_all":
		return setContains(l, r, true)
	case "set_contains_any":
		return setContains(l, r, false)
	}
	return false
}

func setContains(set, want string, all bool) bool {
	have := map[string]bool{}
	for _, s := range strings.Split(set, ",") {
		have[strings.TrimSpace(s)] = true
	}
	for _, w := range strings.Split(want, ",") {
		if have[strings.TrimSpace(w)] != all {
			return !all
		}
	}
	return all
}

// ordered compares quantities such as "81920 MiB" and "40 GiB", and words
// where either is not a quantity.
func ordered(l, op, r string) bool {
	cmp := strings.Compare(l, r)
	if a, ua, ok := quantity(l); ok {
		if b, ub, ok := quantity(r); ok && ua == ub {
			cmp = 0
			if a < b {
				cmp = -1
			} else if a > b {
				cmp = 1
			}
		}
	}
	switch op {
	case "<":
		return cmp < 0
	case "<=":
		return cmp <= 0
	case ">":
		return cmp > 0
	}
	return cmp >= 0
}

var unitBase = map[string]struct {
	base   string
	factor float64
}{
	"": {"", 1}, "B": {"B", 1}, "KiB": {"B", 1 << 10}, "MiB": {"B", 1 << 20}, "GiB": {"B", 1 << 30}, "TiB": {"B", 1 << 40},
	"kB": {"B", 1e3}, "MB": {"B", 1e6}, "GB": {"B", 1e9}, "TB": {"B", 1e12},
	"MHz": {"Hz", 1e6}, "GHz": {"Hz", 1e9}, "W": {"W", 1}, "mW": {"W", 1e-3},
	"MB/s": {"B/s", 1e6}, "GB/s": {"B/s", 1e9},
}

func quantity(s string) (float64, string, bool) {
	s = strings.TrimSpace(s)
	i := strings.IndexFunc(s, func(r rune) bool { return r != '.' && r != '-' && (r < '0' || r > '9') })
	number, unit := s, ""
	if i >= 0 {
		number, unit = s[:i], strings.TrimSpace(s[i:])
	}
	v, err := strconv.ParseFloat(number, 64)
	u, known := unitBase[unit]
	if err != nil || !known {
		return 0, "", false
	}
	return v * u.factor, u.base, true
}

// target resolves what a job may ask about a node.
func (n *node) target(name string) (string, bool) {
	switch name {
	case "node.unique.id":
		return n.Spec.ID, true
	case "node.unique.name":
		return n.Spec.Name, true
	case "node.datacenter":
		return n.Spec.Datacenter, true
	case "node.class":
		return n.Spec.Class, true
	case "node.pool":
		return n.Spec.Pool, true
	}
	if k, ok := strings.CutPrefix(name, "meta."); ok {
		v, has := n.Spec.Meta[k]
		return v, has
	}
	if k, ok := strings.CutPrefix(name, "attr."); ok {
		v, has := n.attributes("")[k]
		return v, has
	}
	return "", false
}

// target resolves what a job may ask about a device group.
func (d DeviceSpec) target(name string) (string, bool) {
	switch name {
	case "device.model":
		return d.Model, true
	case "device.vendor":
		return d.Vendor, true
	case "device.type":
		return d.Type, true
	case "device.ids":
		return strings.Join(d.IDs, ","), true
	}
	if k, ok := strings.CutPrefix(name, "device.attr."); ok {
		a, has := d.attributes()[k]
		switch {
		case !has:
			return "", false
		case a.Int != nil:
			return strconv.FormatInt(*a.Int, 10) + " " + a.Unit, true
		case a.String != nil:
			return *a.String, true
		}
	}
	return "", false
}
