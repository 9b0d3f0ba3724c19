"""The method "beam": a few configurations, where very many are possible."""
