"""The executable specification of LaminarDB's checkpoint manifest."""
