"""Dictionary updates for given codes: L1 loss, squared loss, and initial atoms of trees."""
