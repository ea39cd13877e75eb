-- A spending cap may let work run on until what is used comes to it.
-- +goose Up
ALTER TABLE spending_caps DROP CONSTRAINT spending_caps_mode_check;
ALTER TABLE spending_caps ADD CONSTRAINT spending_caps_mode_check CHECK (mode IN ('stop', 'downgrade', 'bill', 'notify'));

-- +goose Down
ALTER TABLE spending_caps DISABLE TRIGGER spending_caps_update;
UPDATE spending_caps SET mode = 'stop' WHERE mode = 'bill';
ALTER TABLE spending_caps ENABLE TRIGGER spending_caps_update;
ALTER TABLE spending_caps DROP CONSTRAINT spending_caps_mode_check;
ALTER TABLE spending_caps ADD CONSTRAINT spending_caps_mode_check CHECK (mode IN ('stop', 'downgrade', 'notify'));
