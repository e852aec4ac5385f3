"""Every attack, by name, in the order in which they run."""

from plyd.clients.stress.attacks import beside, connections, costly, holding
from plyd.clients.stress.attacks.scene import Attack

ATTACKS: dict[str, type[Attack]] = {
    attack.name: attack
    for attack in (
        connections.Nobody,
        costly.RenjuLattice,
        costly.GzipBomb,
        costly.LongStart,
        costly.GiantMetadata,
        costly.BadTokens,
        costly.MalformedLines,
        connections.RapidReset,
        connections.HalfOpen,
        connections.Crowd,
        connections.DroppedGames,
        connections.SlowReaders,
        holding.IdleGames,
        holding.EndlessAnalyses,
        holding.RevokedToken,
        holding.MemoryQuota,
        beside.StopFlood,
        beside.ForeignHost,
        beside.UnreadLog,
    )
}
