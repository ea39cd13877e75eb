package embedded

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// matcher decides on the fields of one row.
type matcher func(map[string]any) (bool, error)

// parseFilter reads the part of Nomad's filter language that lists need:
// ==, !=, in, not in, contains, matches, is empty, is not empty, and, or, not,
// parentheses; selectors such as JobID, Meta.key and Meta["a.key"].
func parseFilter(text string) (matcher, error) {
	toks, err := lexFilter(text)
	if err != nil {
		return nil, err
	}
	p := &filterParser{toks: toks}
	m, err := p.or()
	if err != nil {
		return nil, err
	}
	if p.at < len(p.toks) {
		return nil, fmt.Errorf("unexpected %q", p.toks[p.at].text)
	}
	return m, nil
}

type token struct {
	text   string
	quoted bool
	pos    int
}

func lexFilter(s string) ([]token, error) {
	var out []token
	for i := 0; i < len(s); {
		switch ch := s[i]; {
		case ch == ' ' || ch == '\t' || ch == '\n':
			i++
		case ch == '"' || ch == '`':
			end := i + 1
			for end < len(s) && s[end] != ch {
				if ch == '"' && s[end] == '\\' {
					end++
				}
				end++
			}
			if end >= len(s) {
				return nil, fmt.Errorf(`1:%d (%d): rule "string": Unterminated string literal`, len(s)+1, len(s))
			}
			v, err := strconv.Unquote(s[i : end+1])
			if err != nil {
				return nil, fmt.Errorf("1:%d (%d): %w", i+1, i, err)
			}
			out = append(out, token{v, true, i})
			i = end + 1
		case strings.HasPrefix(s[i:], "==") || strings.HasPrefix(s[i:], "!="):
			out = append(out, token{s[i : i+2], false, i})
			i += 2
		case strings.IndexByte("()[]", ch) >= 0:
			out = append(out, token{string(ch), false, i})
			i++
		case wordByte(ch):
			end := i
			for end < len(s) && wordByte(s[end]) {
				end++
			}
			out = append(out, token{s[i:end], false, i})
			i = end
		default:
			return nil, fmt.Errorf("1:%d (%d): no match found", i+1, i)
		}
	}
	return out, nil
}

func wordByte(b byte) bool {
	return b == '_' || b == '.' || b == '-' || b == '/' ||
		'0' <= b && b <= '9' || 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z'
}

type filterParser struct {
	toks []token
	at   int
}

func (p *filterParser) accept(words ...string) bool {
	for i, w := range words {
		if p.at+i >= len(p.toks) || p.toks[p.at+i].quoted || p.toks[p.at+i].text != w {
			return false
		}
	}
	p.at += len(words)
	return true
}

func (p *filterParser) value() (string, error) {
	if p.at >= len(p.toks) {
		return "", fmt.Errorf("a value is missing at the end")
	}
	p.at++
	return p.toks[p.at-1].text, nil
}

func (p *filterParser) or() (matcher, error) {
	left, err := p.and()
	for err == nil && p.accept("or") {
		var right matcher
		l := left
		right, err = p.and()
		left = func(m map[string]any) (bool, error) {
			if ok, err := l(m); ok || err != nil {
				return ok, err
			}
			return right(m)
		}
	}
	return left, err
}

func (p *filterParser) and() (matcher, error) {
	left, err := p.not()
	for err == nil && p.accept("and") {
		var right matcher
		l := left
		right, err = p.not()
		left = func(m map[string]any) (bool, error) {
			if ok, err := l(m); !ok || err != nil {
				return ok, err
			}
			return right(m)
		}
	}
	return left, err
}

func (p *filterParser) not() (matcher, error) {
	if p.accept("not") {
		inner, err := p.not()
		return negated(inner), err
	}
	if p.accept("(") {
		inner, err := p.or()
		if err == nil && !p.accept(")") {
			err = fmt.Errorf("a closing parenthesis is missing")
		}
		return inner, err
	}
	return p.comparison()
}

func negated(m matcher) matcher {
	return func(f map[string]any) (bool, error) { ok, err := m(f); return !ok, err }
}

func (p *filterParser) comparison() (matcher, error) {
	first := p.at
	left, err := p.value()
	if err != nil {
		return nil, err
	}
	quoted := p.toks[first].quoted
	path := strings.Split(left, ".")
	for !quoted && p.accept("[") {
		key, err := p.value()
		if err != nil || !p.accept("]") {
			return nil, fmt.Errorf("a closing bracket is missing")
		}
		path = append(path, key)
	}
	switch {
	case p.accept("=="):
		return p.test(path, func(have any, want string) (bool, error) { return textOf(have) == want, nil })
	case p.accept("!="):
		m, err := p.test(path, func(have any, want string) (bool, error) { return textOf(have) == want, nil })
		return negated(m), err
	case p.accept("is", "not", "empty"):
		return negated(isEmpty(path)), nil
	case p.accept("is", "empty"):
		return isEmpty(path), nil
	case p.accept("contains"):
		return p.test(path, contains)
	case p.accept("not", "contains"):
		m, err := p.test(path, contains)
		return negated(m), err
	case p.accept("matches"):
		return p.test(path, func(have any, want string) (bool, error) {
			re, err := regexp.Compile(want)
			return err == nil && re.MatchString(textOf(have)), err
		})
	case p.accept("in"):
		return p.inside(left)
	case p.accept("not", "in"):
		m, err := p.inside(left)
		return negated(m), err
	}
	return nil, fmt.Errorf("an operator is missing after %q", left)
}

func (p *filterParser) test(path []string, f func(any, string) (bool, error)) (matcher, error) {
	want, err := p.value()
	return func(m map[string]any) (bool, error) {
		have, err := pick(m, path)
		if err != nil {
			return false, err
		}
		return f(have, want)
	}, err
}

// inside is `"x" in Selector`.
func (p *filterParser) inside(want string) (matcher, error) {
	sel, err := p.value()
	path := strings.Split(sel, ".")
	return func(m map[string]any) (bool, error) {
		have, err := pick(m, path)
		if err != nil {
			return false, err
		}
		return contains(have, want)
	}, err
}

func isEmpty(path []string) matcher {
	return func(m map[string]any) (bool, error) {
		v, err := pick(m, path)
		switch x := v.(type) {
		case map[string]any:
			return len(x) == 0, err
		case []any:
			return len(x) == 0, err
		}
		return textOf(v) == "", err
	}
}

func contains(have any, want string) (bool, error) {
	switch x := have.(type) {
	case []any:
		for _, v := range x {
			if textOf(v) == want {
				return true, nil
			}
		}
		return false, nil
	case map[string]any:
		_, ok := x[want]
		return ok, nil
	}
	return strings.Contains(textOf(have), want), nil
}

// pick follows a selector; a field that a row doesn't have is an error, a key
// that a map doesn't have is empty.
func pick(m map[string]any, path []string) (any, error) {
	v, ok := m[path[0]]
	if !ok {
		return nil, fmt.Errorf("error finding value in datum: /%s at part 0: couldn't find key: struct field with name %q", path[0], path[0])
	}
	for _, k := range path[1:] {
		inner, ok := v.(map[string]any)
		if !ok {
			return nil, nil
		}
		v = inner[k]
	}
	return v, nil
}

func textOf(v any) string {
	switch x := v.(type) {
	case nil:
		return ""
	case string:
		return x
	case float64:
		return strconv.FormatFloat(x, 'f', -1, 64)
	}
	return fmt.Sprint(v)
}
