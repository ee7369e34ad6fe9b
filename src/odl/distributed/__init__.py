"""Dictionary learning over a network of agents (Chen, Towfic and Sayed 2014)."""
