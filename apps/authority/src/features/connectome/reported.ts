import { DAY, compareCodePoints, nextBoundary, readInstant, seconds, toEdge } from '@chancery/protocol'
import type { Instant, ReportedEdge, TreatyFact } from '@chancery/protocol'
import type { ReportedTreaty } from '../../database/database.ts'
import { toWireTime } from '../../requests/list-position.ts'

/** Reported edges in one document (protocol/core 20.6). */
export const MAX_REPORTED_EDGES = 10_000

const FRESH_SECONDS = 900

/** Reported treaties as edges, and when the first of them changes with time. */
export interface Reported {
  readonly edges: readonly ReportedEdge[]
  readonly staleAt: Instant | undefined
}

/** Leaves out what partners report with which this authority has no treaty in force. */
export function toReported(
  treaties: readonly ReportedTreaty[],
  own: { readonly sovereign: string; readonly treaties: readonly TreatyFact[] },
  now: Instant,
): Reported {
  const inForce = new Set(
    own.treaties.filter((fact) => isInForce(fact, own.sovereign, now)).map((fact) => fact.subject_sovereign_id),
  )
  let staleAt: Instant | undefined
  const edges: ReportedEdge[] = []
  for (const treaty of treaties) {
    if (!inForce.has(treaty.reported_by)) continue
    const { reported_by, treaty_id, subject_sovereign_id, valid_from, expires_at } = treaty
    const fact = {
      treaty_id,
      issuer_sovereign_id: reported_by,
      subject_sovereign_id,
      status: 'active',
      valid_from,
      expires_at,
      revoked_at: null,
      revocation_reason: null,
    }
    const pulled = readInstant(treaty.last_good_pull_at) ?? 0n
    const freshUntil = pulled + seconds(Math.max(3 * treaty.interval_seconds, FRESH_SECONDS))
    const isFresh = now <= freshUntil
    const ends = [nextBoundary(fact, now), (isFresh ? freshUntil : pulled + DAY) + 1n]
    for (const at of ends) if (at !== undefined && (staleAt === undefined || at < staleAt)) staleAt = at
    edges.push({
      ...toEdge(fact, now),
      origin: 'reported',
      reported_by,
      as_of: toWireTime(treaty.as_of) ?? '',
      freshness: isFresh ? 'fresh' : 'watch',
    })
  }
  return { edges, staleAt }
}

function isInForce(fact: TreatyFact, own: string, now: Instant): boolean {
  return (
    fact.issuer_sovereign_id === own &&
    fact.status === 'active' &&
    (readInstant(fact.valid_from) ?? now + 1n) <= now &&
    now < (readInstant(fact.expires_at) ?? 0n)
  )
}

/** Adds who accepted the issuer according to a partner: to all, and apart as those known only by report. */
export function addReported<
  Row extends { readonly issuer_sovereign_id: string; readonly affected_accepting_sovereigns: readonly string[] },
>(
  rows: readonly Row[],
  edges: readonly ReportedEdge[],
): readonly (Row & { readonly reported_accepting_sovereigns: readonly string[] })[] {
  const reported = reportedAccepting(edges)
  return rows.map((row) => {
    const own = row.affected_accepting_sovereigns
    const others = [...(reported.get(row.issuer_sovereign_id) ?? [])].filter((name) => !own.includes(name))
    return {
      ...row,
      affected_accepting_sovereigns: [...own, ...others].sort(compareCodePoints),
      reported_accepting_sovereigns: others.sort(compareCodePoints),
    }
  })
}

/** For each recognised sovereign, who recognises it according to a partner. */
function reportedAccepting(edges: readonly ReportedEdge[]): ReadonlyMap<string, ReadonlySet<string>> {
  const byIssuer = new Map<string, Set<string>>()
  for (const edge of edges) byIssuer.set(edge.to, (byIssuer.get(edge.to) ?? new Set()).add(edge.from))
  return byIssuer
}

export function reportedSovereigns(edges: readonly ReportedEdge[]): readonly { readonly sovereign_id: string }[] {
  const ids = new Set(edges.flatMap((edge) => [edge.from, edge.to]))
  return [...ids].sort(compareCodePoints).map((sovereign_id) => ({ sovereign_id }))
}
