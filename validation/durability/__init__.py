"""What an experiment must survive, as simulations that can be run in any number: crashes, orders, damage, crowds."""
