"""kill -9 of the gmq service at moments drawn by command, on a real server, and which window each lost job fell into.

``python -m support.gmq_kills`` in ``tests/`` is the proof; tests make a few of its kills.
"""
