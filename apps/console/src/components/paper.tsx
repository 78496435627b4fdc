import { isActiveState, signersOf, verifyTreaty, writeJson } from '@chancery/protocol'
import type { AuthorityKeys, Instant, JsonValue } from '@chancery/protocol'
import type { TreatyRow } from '@chancery/sdk'
import { useEffect, useState } from 'preact/hooks'
import type { JSX } from 'preact'
import { authority, explain } from '../authority.ts'
import { withFormerKeys } from '../former-keys.ts'
import { Badge } from './badge.tsx'
import { Fact } from './fact.tsx'

type Judged =
  | { readonly kind: 'reading' }
  | { readonly kind: 'failed'; readonly why: string }
  | { readonly kind: 'read'; readonly row: TreatyRow; readonly verdict: Verdict }

interface Verdict {
  readonly tone: 'good' | 'bad' | 'watch'
  readonly word: string
  readonly why: string
  readonly reason?: string
}

const REASONS: Readonly<Record<string, string>> = {
  locally_revoked: 'The signature was not needed: this authority ended the treaty.',
  bad_status: 'The paper itself says that it is not active.',
  outside_validity_window: 'Its time has not come or is over.',
  missing_signature: 'Nobody signed it.',
  invalid_signature: 'No signature fits the key of the issuer. Do not rely on it.',
}

/** A treaty as it was signed, with a verdict reached in this browser: the authority's word is not taken for it. */
export function Paper(props: {
  readonly id: string
  /** Draws what ending it would cut off. */
  readonly foresee: (from: string, to: string) => void
}): JSX.Element {
  const { id, foresee } = props
  const [judged, setJudged] = useState<Judged>({ kind: 'reading' })
  useEffect(() => {
    let isCurrent = true
    setJudged({ kind: 'reading' })
    void read(id)
      .catch((error: unknown): Judged => ({ kind: 'failed', why: explain(error) }))
      .then((next) => isCurrent && setJudged(next))
    return () => {
      isCurrent = false
    }
  }, [id])
  if (judged.kind === 'reading') return <p class="quiet">Reading the paper…</p>
  if (judged.kind === 'failed') return <p role="alert">{judged.why}</p>
  const { row, verdict } = judged
  const { treaty } = row
  return (
    <article class="paper">
      <p data-verdict={verdict.word}>
        <Badge tone={verdict.tone} word={verdict.word} /> {verdict.why}
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
            class="quiet-button"
            onClick={() => foresee(treaty.issuer_sovereign_id, treaty.subject_sovereign_id)}
          >
            Draw what would end with it
          </button>
        </p>
      ) : null}
      <details>
        <summary>Signed paper</summary>
        <pre tabIndex={0}>{pretty(treaty)}</pre>
      </details>
    </article>
  )
}

async function read(id: string): Promise<Judged> {
  const client = authority()
  const [row, genesis] = await Promise.all([client.recognitionTreaties.find(id), client.sovereign.genesis()])
  const now = BigInt(Date.now()) * 1000n
  const verdict = await judge(row, { genesis }, now)
  const keys = verdict.reason === 'invalid_signature' ? await withFormerKeys(genesis) : undefined
  return { kind: 'read', row, verdict: keys === undefined ? verdict : await judge(row, keys, now) }
}

/** Only the own authority's key is known here: papers of others are shown and not vouched for. */
export async function judge(row: TreatyRow, own: AuthorityKeys, now: Instant): Promise<Verdict> {
  const { treaty } = row
  if (treaty.issuer_sovereign_id !== own.genesis.network_name)
    return {
      tone: 'watch',
      word: 'not verified here',
      why: 'Another sovereign issued it; this page knows no key of it.',
    }
  const verdict = await verifyTreaty(treaty, {
    keys: signersOf(own, treaty),
    isRevoked: row.status === 'revoked',
    now,
  })
  if (verdict.ok)
    return { tone: 'good', word: 'verified', why: 'Checked in this browser under the key of the genesis block.' }
  const { reason } = verdict
  return { tone: 'bad', word: 'does not hold', why: REASONS[reason] ?? reason, reason }
}

export function pretty(value: JsonValue): string {
  return JSON.stringify(JSON.parse(writeJson(value)), null, 2)
}
