package web

import (
	"encoding/binary"
	"errors"
	"os"
	"sort"
	"unicode"
)

// fontPlaces are where systems keep fonts with wide coverage; the first that has every letter is taken.
var fontPlaces = []string{
	"/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf", "/usr/share/fonts/dejavu/DejaVuSans.ttf", "/usr/share/fonts/TTF/DejaVuSans.ttf", "/usr/share/fonts/dejavu-sans-fonts/DejaVuSans.ttf",
	"/usr/share/fonts/truetype/liberation/LiberationSans-Regular.ttf", "/usr/share/fonts/truetype/freefont/FreeSans.ttf", "/usr/share/fonts/truetype/noto/NotoSans-Regular.ttf",
	"/usr/share/fonts/truetype/wqy/wqy-microhei.ttc", "/usr/share/fonts/wqy-microhei/wqy-microhei.ttc", "/usr/share/fonts/wenquanyi/wqy-microhei/wqy-microhei.ttc", "/usr/share/fonts/truetype/wqy/wqy-zenhei.ttc",
	"/Library/Fonts/Arial Unicode.ttf", "/System/Library/Fonts/Supplemental/Arial Unicode.ttf", `C:\Windows\Fonts\arial.ttf`, `C:\Windows\Fonts\msyh.ttc`,
}

// fontFor is a TrueType font that has every letter of a text. Without one it names letters that the best font misses;
// nothing is named where there is no font at all.
func fontFor(configured, text string) (font []byte, missing string) {
	places := fontPlaces
	if configured != "" {
		places = append([]string{configured}, places...)
	}
	best := -1
	for _, path := range places {
		raw, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		face, err := faceOf(raw)
		if err != nil {
			continue
		}
		lacks := face.lacks(text)
		if len(lacks) == 0 {
			return face.data, ""
		}
		if best < 0 || len(lacks) < best {
			best = len(lacks)
			missing = string(lacks[:min(len(lacks), 10)])
		}
	}
	return nil, missing
}

// face is one TrueType font: its file and where its table of letters lies.
type face struct {
	data []byte
	cmap []byte // a subtable of format 4 or 12
}

var errFont = errors.New("not a TrueType font")

// faceOf reads a font file; of a collection it takes the first face.
func faceOf(raw []byte) (f face, err error) {
	defer func() {
		if recover() != nil { // an offset that points outside of the file
			f, err = face{}, errFont
		}
	}()
	if string(raw[:4]) == "ttcf" {
		raw = firstFace(raw)
	}
	if v := binary.BigEndian.Uint32(raw); v != 0x00010000 && v != 0x74727565 {
		return face{}, errFont
	}
	f.data = raw
	tables := int(binary.BigEndian.Uint16(raw[4:]))
	for i := range tables {
		e := raw[12+16*i:]
		if string(e[:4]) == "cmap" {
			f.cmap = subtable(raw[binary.BigEndian.Uint32(e[8:]):])
		}
	}
	if f.cmap == nil {
		return face{}, errFont
	}
	return f, nil
}

// firstFace makes a font of its own out of the first one of a collection: the tables that it uses, moved together.
func firstFace(ttc []byte) []byte {
	head := ttc[binary.BigEndian.Uint32(ttc[12:]):]
	n := int(binary.BigEndian.Uint16(head[4:]))
	out := append([]byte(nil), head[:12+16*n]...)
	for i := range n {
		e := out[12+16*i:]
		offset, length := binary.BigEndian.Uint32(e[8:]), binary.BigEndian.Uint32(e[12:])
		binary.BigEndian.PutUint32(e[8:], uint32(len(out)))
		out = append(out, ttc[offset:offset+length]...)
		for len(out)%4 != 0 {
			out = append(out, 0)
		}
	}
	return out
}

// subtable is the Unicode table of format 12, or of format 4.
func subtable(cmap []byte) []byte {
	var found []byte
	for i := range int(binary.BigEndian.Uint16(cmap[2:])) {
		e := cmap[4+8*i:]
		platform := binary.BigEndian.Uint16(e)
		t := cmap[binary.BigEndian.Uint32(e[4:]):]
		if platform != 0 && platform != 3 {
			continue
		}
		switch binary.BigEndian.Uint16(t) {
		case 12:
			return t
		case 4:
			found = t
		}
	}
	return found
}

// lacks are the letters of a text that the font has not, each once, in order.
func (f face) lacks(text string) []rune {
	seen := map[rune]bool{}
	var out []rune
	for _, r := range text {
		if r == '\n' || unicode.Is(unicode.Zs, r) || seen[r] {
			continue
		}
		seen[r] = true
		// The writer of PDF files knows the letters of the basic plane only.
		if r > 0xffff || !f.has(r) {
			out = append(out, r)
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i] < out[j] })
	return out
}

func (f face) has(r rune) (ok bool) {
	defer func() {
		if recover() != nil { // a broken table has no letters
			ok = false
		}
	}()
	if binary.BigEndian.Uint16(f.cmap) == 12 {
		for i := range int(binary.BigEndian.Uint32(f.cmap[12:])) {
			g := f.cmap[16+12*i:]
			if c := uint32(r); binary.BigEndian.Uint32(g) <= c && c <= binary.BigEndian.Uint32(g[4:]) {
				return true
			}
		}
		return false
	}
	return f.hasInSegments(uint16(r))
}

// hasInSegments looks a letter up in a table of format 4.
func (f face) hasInSegments(c uint16) bool {
	at := func(i int) uint16 { return binary.BigEndian.Uint16(f.cmap[i:]) }
	n := int(at(6)) / 2
	ends, starts, deltas, ranges := 14, 16+2*n, 16+4*n, 16+6*n
	for i := range n {
		if at(ends+2*i) < c {
			continue
		}
		if at(starts+2*i) > c {
			return false
		}
		offset := at(ranges + 2*i)
		if offset == 0 {
			return c+at(deltas+2*i) != 0
		}
		return at(ranges+2*i+int(offset)+2*int(c-at(starts+2*i))) != 0
	}
	return false
}
