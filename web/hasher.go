package web

import "github.com/alexedwards/argon2id"

// Argon2id keeps passwords. The zero value has the parameters for production: 64 MiB, one pass, four lanes.
type Argon2id struct {
	Memory  uint32 // KiB; tests take little
	Passes  uint32
	Threads uint8
}

// Hash of a password with a salt of its own.
func (a Argon2id) Hash(password string) (string, error) {
	p := argon2id.Params{Memory: 64 * 1024, Iterations: 1, Parallelism: 4, SaltLength: 16, KeyLength: 32}
	if a.Memory > 0 {
		p.Memory, p.Iterations, p.Parallelism = a.Memory, max(1, a.Passes), max(1, a.Threads)
	}
	return argon2id.CreateHash(password, &p)
}

// Matches compares in constant time.
func (a Argon2id) Matches(password, hash string) (bool, error) {
	return argon2id.ComparePasswordAndHash(password, hash)
}
