package invoice

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"gpupool/domain/pool"
	"gpupool/domain/rating"
)

// Issue makes a draft final: number, date, due date and the hash that chains
// it to the issuer's document before. The number must be the next of a gapless
// series, which is the store's to give. segments are those of the draft's
// range. Errors: it is issued already, or a segment lies outside the range.
func Issue(d Document, number string, at, due pool.Instant, segments []rating.Segment, previous string) (Document, error) {
	if !d.Draft() {
		return Document{}, fmt.Errorf("invoice %s is issued already", d.Number)
	}
	if number == "" {
		return Document{}, errors.New("an invoice needs a number")
	}
	for _, s := range segments {
		if s.Account != d.Account || s.Seq <= d.Range.From || s.Seq > d.Range.To {
			return Document{}, fmt.Errorf("segment %d of account %s is not in (%d, %d] of %s", s.Seq, s.Account, d.Range.From, d.Range.To, d.Account)
		}
	}
	d.Number, d.Issued, d.Due, d.Previous = number, at, due, previous
	d.Segments = rating.Digest(segments)
	d.Hash = d.digest()
	return d, nil
}

// Encode is the one form in which a document is stored, hashed and exported:
// JSON, fields in the order of their declaration, keys of maps sorted.
func (d Document) Encode() []byte {
	b, err := json.Marshal(d)
	if err != nil {
		panic(fmt.Sprintf("invoice: %v", err)) // plain data always encodes
	}
	return b
}

// Decode reads what Encode wrote. Errors: it is not JSON of a document, or of a
// form that this program does not know.
func Decode(b []byte) (Document, error) {
	var d Document
	if err := json.Unmarshal(b, &d); err != nil {
		return Document{}, fmt.Errorf("read a stored invoice: %w", err)
	}
	if d.Form != form {
		return Document{}, fmt.Errorf("read a stored invoice: its form %q is not known", d.Form)
	}
	return d, nil
}

// digest is the hash of everything the document says, its chain included.
func (d Document) digest() string {
	d.Hash = ""
	sum := sha256.Sum256(d.Encode())
	return hex.EncodeToString(sum[:])
}
