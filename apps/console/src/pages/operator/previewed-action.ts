import type { AttestationPreview, RevocationPreview, TreatyPreview } from '@chancery/sdk'
import { SIGNED_OUT, counted, named } from './preview.ts'
import type { Preview } from './preview.ts'

/** Previews a revocation with a dry run. */
export function previewedRevocation(preview: RevocationPreview): Preview {
  const { certificates_revoked: certificates, agents_dropped: agents, other_certificates: others } = preview
  const lines = [
    preview.would_change
      ? 'The revocation list gets a new version.'
      : 'Nothing would change: the certificate is already revoked.',
    `No longer accepted: ${counted(certificates.count, 'certificate')}${named(certificates.sample, certificates.count)}.`,
    `Removed from the registry: ${counted(agents.count, 'agent')}.`,
    ...(others.count === 0
      ? []
      : [
          `Remaining certificates of this node key: ${counted(others.count, 'certificate')}${named(others.sample, others.count)}.`,
        ]),
  ]
  return {
    lines,
    impact: {
      // One certificate is named in the middle; several are listed on the right.
      sources:
        certificates.count === 1
          ? SIGNED_OUT
          : { what: 'certificates that end', names: certificates.sample, count: certificates.count },
      ends: certificates.count === 1 ? (certificates.sample[0] ?? '') : counted(certificates.count, 'certificate'),
      lost: { what: 'agents that are removed from the registry', names: agents.sample, count: agents.count },
    },
  }
}

/** Previews the end of a treaty with a dry run. */
export function previewedEnd({ would_change, paths_lost }: TreatyPreview): Preview {
  const pairs = paths_lost.sample.map((pair) => `${pair.from} → ${pair.to}`)
  const lines = [
    would_change ? 'The treaty ends now.' : 'Nothing would change: the treaty has already ended.',
    `Lost: ${paths_lost.complete ? '' : 'at least '}${counted(paths_lost.count, 'trust path')}${named(pairs, paths_lost.count)}.`,
    ...(would_change
      ? [
          paths_lost.direct_recognition_lost
            ? 'No other active treaty connects the two directly.'
            : 'Another active treaty still connects the two.',
        ]
      : []),
  ]
  const sources = [...new Set(paths_lost.sample.map((pair) => pair.from))]
  const targets = [...new Set(paths_lost.sample.map((pair) => pair.to))]
  return {
    lines,
    impact: {
      sources: { what: 'networks that lose a path', names: sources, count: sources.length },
      ends: 'this treaty',
      lost: { what: 'networks they no longer reach', names: targets, count: targets.length },
    },
  }
}

/** Previews the revocation of an attestation with a dry run. */
export function previewedWithdrawal(preview: AttestationPreview): Preview {
  const { accepting_sovereigns: others } = preview
  const lines = [
    preview.would_change ? 'The attestation ends now.' : 'Nothing would change: the attestation is already revoked.',
    `Members of this network are accepted by ${counted(others.count, 'network')} today${named(others.sample, others.count)}.`,
  ]
  return {
    lines,
    impact: {
      sources: SIGNED_OUT,
      ends: 'this attestation',
      lost: {
        what: 'networks that accept such attestations and read the feed',
        names: others.sample,
        count: others.count,
      },
    },
  }
}
