import type { AttestationForecast, Client, RevocationForecast, TreatyForecast } from '@chancery/sdk'
import { plain } from '../../components/plain.ts'
import { NOBODY, counted, named } from './forecast.ts'
import type { Forecast } from './forecast.ts'

/** The dry run of a revocation, in words and drawn. */
export function foreseenRevocation(forecast: RevocationForecast): Forecast {
  const { certificates_revoked: certificates, agents_dropped: agents, other_certificates: others } = forecast
  const lines = [
    forecast.would_change ? 'The revocation list gets a new version.' : 'Nothing would change: it is revoked already.',
    `No longer accepted: ${counted(certificates.count, 'certificate')}${named(certificates.sample, certificates.count)}.`,
    `Out of the registry: ${counted(agents.count, 'agent')}.`,
    ...(others.count === 0
      ? []
      : [
          `Of the same node key and left: ${counted(others.count, 'certificate')}${named(others.sample, others.count)}.`,
        ]),
  ]
  return {
    lines,
    ripple: {
      // One certificate is named where it ends; several stand beside it.
      sources:
        certificates.count === 1
          ? NOBODY
          : { what: 'certificates that end', names: certificates.sample, count: certificates.count },
      ends: certificates.count === 1 ? (certificates.sample[0] ?? '') : counted(certificates.count, 'certificate'),
      lost: { what: 'agents that leave the registry', names: agents.sample, count: agents.count },
    },
  }
}

/** The dry run of the end of a treaty. */
export function foreseenEnd({ would_change, paths_lost }: TreatyForecast): Forecast {
  const pairs = paths_lost.sample.map((pair) => `${pair.from} → ${pair.to}`)
  const lines = [
    would_change ? 'The treaty ends now.' : 'Nothing would change: it ended before.',
    `Lost: ${paths_lost.complete ? '' : 'at least '}${counted(paths_lost.count, 'trust path')}${named(pairs, paths_lost.count)}.`,
    ...(would_change
      ? [
          paths_lost.direct_recognition_lost
            ? 'No other treaty in force joins the two directly.'
            : 'Another treaty in force still joins the two.',
        ]
      : []),
  ]
  const sources = [...new Set(paths_lost.sample.map((pair) => pair.from))]
  const targets = [...new Set(paths_lost.sample.map((pair) => pair.to))]
  return {
    lines,
    ripple: {
      sources: { what: 'sovereigns that lose a path', names: sources, count: sources.length },
      ends: 'this treaty',
      lost: { what: 'sovereigns they no longer reach', names: targets, count: targets.length },
    },
  }
}

/** The dry run of the withdrawal of an attestation. */
export function foreseenWithdrawal(forecast: AttestationForecast): Forecast {
  const { accepting_sovereigns: others } = forecast
  const lines = [
    forecast.would_change ? 'The attestation ends now.' : 'Nothing would change: it was withdrawn before.',
    `Members of this network are accepted by ${counted(others.count, 'sovereign')} today${named(others.sample, others.count)}.`,
  ]
  return {
    lines,
    ripple: {
      sources: NOBODY,
      ends: 'this attestation',
      lost: {
        what: 'sovereigns that accept its like and read the feed',
        names: others.sample,
        count: others.count,
      },
    },
  }
}

export async function foreseeAnchor(client: Client): Promise<Forecast> {
  const { unanchored_entries, last_store_sequence } = await client.evidence.status()
  return {
    lines: [
      unanchored_entries === 0
        ? 'Nothing would change: the head is anchored.'
        : `Entries up to #${plain(last_store_sequence)} are checked and their head is signed.`,
    ],
  }
}
