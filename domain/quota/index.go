package quota

import (
	"hash/maphash"

	"gpupool/domain/pool"
)

// slots finds the slot of an id by open addressing. It keeps no ids: the
// caller knows those of its slots. Nothing ever walks it, so that its seed
// shows in no plan.
type slots struct {
	at   []int32 // slot+1; 0 never used, -1 freed
	used int     // entries that are not 0
}

var slotSeed = maphash.MakeSeed()

func hashJob(id pool.JobID) uint64 { return maphash.String(slotSeed, string(id)) }

// room makes place for n more ids; hash gives that of a slot.
func (t *slots) room(n int, hash func(int32) uint64) {
	if (t.used+n)*2 <= len(t.at) {
		return
	}
	old := t.at
	live := 0
	for _, x := range old {
		if x > 0 {
			live++
		}
	}
	size := 16
	for size < (live+n)*4 {
		size *= 2
	}
	t.at, t.used = make([]int32, size), 0
	for _, x := range old {
		if x > 0 {
			t.put(hash(x-1), x-1)
		}
	}
}

// find looks for the slot that is the one meant.
func (t *slots) find(h uint64, is func(int32) bool) (int32, bool) {
	if len(t.at) == 0 {
		return 0, false
	}
	mask := uint64(len(t.at) - 1)
	for i := h & mask; t.at[i] != 0; i = (i + 1) & mask {
		if x := t.at[i]; x > 0 && is(x-1) {
			return x - 1, true
		}
	}
	return 0, false
}

// put adds a slot; there is room, and it isn't there.
func (t *slots) put(h uint64, slot int32) {
	mask := uint64(len(t.at) - 1)
	i := h & mask
	for t.at[i] > 0 {
		i = (i + 1) & mask
	}
	if t.at[i] == 0 {
		t.used++
	}
	t.at[i] = slot + 1
}

// drop takes a slot out.
func (t *slots) drop(h uint64, slot int32) {
	mask := uint64(len(t.at) - 1)
	for i := h & mask; t.at[i] != 0; i = (i + 1) & mask {
		if t.at[i] == slot+1 {
			t.at[i] = -1
			return
		}
	}
}
