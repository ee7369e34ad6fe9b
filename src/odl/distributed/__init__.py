"""Dictionary learning over a network of agents: models, graphs, inference, learning.

Source: Chen, Towfic and Sayed 2014.
"""
