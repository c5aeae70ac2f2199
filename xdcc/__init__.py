"""Multi-label classification with boosted trees and dynamic chains."""
