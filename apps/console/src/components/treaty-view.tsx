import { isActiveState, signersOf, verifyTreaty, writeJson } from '@chancery/protocol'
import type { AuthorityKeys, Instant, JsonValue } from '@chancery/protocol'
import type { TreatyRow } from '@chancery/sdk/authority'
import { useEffect, useState } from 'preact/hooks'
import type { JSX } from 'preact'
import { authority, explain } from '../authority.ts'
import { withFormerKeys } from '../former-keys.ts'
import { Badge } from './badge.tsx'
import { Fact } from './fact.tsx'

type TreatyReading =
  | { readonly kind: 'reading' }
  | { readonly kind: 'failed'; readonly reason: string }
  | { readonly kind: 'read'; readonly row: TreatyRow; readonly verdict: Verdict }

interface Verdict {
  readonly tone: 'good' | 'bad' | 'watch'
  readonly word: string
  readonly text: string
  readonly reason?: string
}

const REASONS: Readonly<Record<string, string>> = {
  locally_revoked: 'This authority revoked the treaty.',
  bad_status: 'The treaty states that it is not active.',
  outside_validity_window: 'The treaty is not valid at this time.',
  missing_signature: 'The treaty has no signature.',
  invalid_signature: 'No signature matches the key of the issuer. Do not rely on this treaty.',
}

/** Shows a signed treaty with a verdict that this browser computes itself. */
export function TreatyView(props: {
  readonly id: string
  /** Shows the impact of ending the treaty. */
  readonly preview: (from: string, to: string) => void
}): JSX.Element {
  const { id, preview } = props
  const [reading, setReading] = useState<TreatyReading>({ kind: 'reading' })
  useEffect(() => {
    let isCurrent = true
    setReading({ kind: 'reading' })
    void read(id)
      .catch((error: unknown): TreatyReading => ({ kind: 'failed', reason: explain(error) }))
      .then((next) => isCurrent && setReading(next))
    return () => {
      isCurrent = false
    }
  }, [id])
  if (reading.kind === 'reading') return <p class="quiet">Loading treaty…</p>
  if (reading.kind === 'failed') return <p role="alert">{reading.reason}</p>
  const { row, verdict } = reading
  const { treaty } = row
  return (
    <article class="treaty">
      <p data-verdict={verdict.word}>
        <Badge tone={verdict.tone} word={verdict.word} /> {verdict.text}
      </p>
      <dl class="facts">
        <Fact name="From" value={treaty.issuer_sovereign_id} />
        <Fact name="To" value={treaty.subject_sovereign_id} />
        <Fact name="State" value={row.lifecycle.state.replaceAll('_', ' ')} />
        <Fact name="Roles" value={treaty.scope.allowed_roles.join(', ') || 'none'} />
        <Fact name="Valid" value={`${treaty.valid_from} to ${treaty.expires_at}`} />
        {row.revocation_reason === null ? null : <Fact name="Ended" value={row.revocation_reason} />}
      </dl>
      {isActiveState(row.lifecycle.state) ? (
        <p>
          <button
            type="button"
            class="btn"
            onClick={() => preview(treaty.issuer_sovereign_id, treaty.subject_sovereign_id)}
          >
            Show the impact of ending this treaty
          </button>
        </p>
      ) : null}
      <details>
        <summary>Signed treaty</summary>
        <pre tabIndex={0}>{pretty(treaty)}</pre>
      </details>
    </article>
  )
}

async function read(id: string): Promise<TreatyReading> {
  const client = authority()
  const [row, genesis] = await Promise.all([client.recognitionTreaties.find(id), client.sovereign.genesis()])
  const now = BigInt(Date.now()) * 1000n
  const verdict = await verifyRow(row, { genesis }, now)
  const keys = verdict.reason === 'invalid_signature' ? await withFormerKeys(genesis) : undefined
  return { kind: 'read', row, verdict: keys === undefined ? verdict : await verifyRow(row, keys, now) }
}

/** Verifies treaties of the own authority only. Treaties of other networks are shown without a verdict. */
export async function verifyRow(row: TreatyRow, own: AuthorityKeys, now: Instant): Promise<Verdict> {
  const { treaty } = row
  if (treaty.issuer_sovereign_id !== own.genesis.network_name)
    return {
      tone: 'watch',
      word: 'not verified here',
      text: 'Another network issued the treaty. This page has no key of that network.',
    }
  const verdict = await verifyTreaty(treaty, {
    keys: signersOf(own, treaty),
    isRevoked: row.status === 'revoked',
    now,
  })
  if (verdict.ok)
    return { tone: 'good', word: 'verified', text: 'Verified in this browser with the key of the genesis block.' }
  const { reason } = verdict
  return { tone: 'bad', word: 'not valid', text: REASONS[reason] ?? reason, reason }
}

function pretty(value: JsonValue): string {
  return JSON.stringify(JSON.parse(writeJson(value)), null, 2)
}
