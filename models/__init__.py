"""Weights: file formats, and the networks that ship. Imports no other room.

files          the format of every .plyd file: a JSON header, arrays, a SHA-256
errors         BadWeights, what every reader raises
ntuple/        the n-tuple networks of 2048 and 2584
onnx           what an ONNX model may ask for
policy_value   the policy-value networks of Gomoku
shipped        the networks that ship, checked against their manifests
cli            `plyd models`: list, pack, import and export; chooses the reader by the header's kind
weights/       the networks that ship, each with its manifest (*.json)
"""
