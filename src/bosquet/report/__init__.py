"""Tables and plots for people; they read History and Info only."""
