package quota

import (
	"hash/maphash"

	"gpupool/domain/pool"
)

// slots finds the slot of an id by open addressing. It keeps no ids: the
// caller knows those of its slots. Nothing ever walks it, so that its seed
// shows in no plan.
type slots struct {
	at   []entrySlot
	used int // entries that are not empty
}

// entrySlot is one entry: a part of the hash spares most looks at the ids of
// others.
type entrySlot struct {
	slot int32 // slot+1; 0 never used, -1 freed
	tag  uint32
}

var slotSeed = maphash.MakeSeed()

func hashJob(id pool.JobID) uint64 { return maphash.String(slotSeed, string(id)) }

func tagOf(h uint64) uint32 { return uint32(h >> 32) }

// room makes place for n more ids; hash gives that of a slot.
func (t *slots) room(n int, hash func(int32) uint64) {
	if (t.used+n)*2 <= len(t.at) {
		return
	}
	old := t.at
	live := 0
	for _, x := range old {
		if x.slot > 0 {
			live++
		}
	}
	size := 16
	for size < (live+n)*2+live {
		size *= 2
	}
	t.at, t.used = make([]entrySlot, size), 0
	for _, x := range old {
		if x.slot > 0 {
			t.put(hash(x.slot-1), x.slot-1)
		}
	}
}

// find looks for the slot that is the one meant.
func (t *slots) find(h uint64, is func(int32) bool) (int32, bool) {
	if len(t.at) == 0 {
		return 0, false
	}
	mask := uint64(len(t.at) - 1)
	for i := h & mask; t.at[i].slot != 0; i = (i + 1) & mask {
		if x := t.at[i]; x.slot > 0 && x.tag == tagOf(h) && is(x.slot-1) {
			return x.slot - 1, true
		}
	}
	return 0, false
}

// put adds a slot; there is room, and it isn't there.
func (t *slots) put(h uint64, slot int32) {
	mask := uint64(len(t.at) - 1)
	i := h & mask
	for t.at[i].slot > 0 {
		i = (i + 1) & mask
	}
	if t.at[i].slot == 0 {
		t.used++
	}
	t.at[i] = entrySlot{slot + 1, tagOf(h)}
}

// drop takes a slot out.
func (t *slots) drop(h uint64, slot int32) {
	mask := uint64(len(t.at) - 1)
	for i := h & mask; t.at[i].slot != 0; i = (i + 1) & mask {
		if t.at[i].slot == slot+1 {
			t.at[i].slot = -1
			return
		}
	}
}
