"""`connectx`: an agent for Kaggle's ConnectX."""
