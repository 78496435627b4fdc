import { BOUNDARY_POLICY_FORM, asReceived, signersOf, verifyReceivedPlainly } from '@chancery/protocol'
import type { GenesisBlock } from '@chancery/protocol'
import type { BoundaryPolicyRow, Client } from '@chancery/sdk'
import { useEffect, useState } from 'preact/hooks'
import type { JSX } from 'preact'
import { explain } from '../../authority.ts'
import { Badge } from '../../components/badge.tsx'
import { pretty } from '../../components/treaty-view.tsx'
import { withFormerKeys } from '../../former-keys.ts'
import type { Values } from './action.ts'
import { intentOf } from './policy-actions.ts'

/** Lists all stored versions, to read, activate, or use as the start of the next version. */
// oxlint-disable-next-line max-lines-per-function -- the state of the page and its markup
export function Policies(props: {
  readonly client: Client
  readonly genesis: GenesisBlock
  readonly bring: (id: string, values: Values) => void
}): JSX.Element {
  const { client, genesis, bring } = props
  const [rows, setRows] = useState<readonly BoundaryPolicyRow[]>()
  const [problem, setProblem] = useState('')
  const [opened, setOpened] = useState<OpenedPolicy>()
  const attempt = (work: Promise<void>): void => {
    setProblem('')
    work.catch((error: unknown) => setProblem(explain(error)))
  }
  const load = (): void => attempt(client.boundaryPolicies.list().then(({ policies }) => setRows(policies)))
  useEffect(load, [client])
  const named = ({ policy_id, version }: BoundaryPolicyRow): Values => ({ policy_id, version: String(version) })
  return (
    <section class="card" data-policies>
      <h2>Boundary policies {rows === undefined ? '' : <span class="quiet">{rows.length} versions</span>}</h2>
      <p>
        <button type="button" class="quiet-button" onClick={load}>
          Read again
        </button>
      </p>
      {problem === '' ? null : <p role="alert">{problem}</p>}
      {rows?.length === 0 ? (
        <p class="empty">No policies yet. Publish the first one with «Publish a boundary policy» above.</p>
      ) : null}
      <ul class="plain">
        {(rows ?? []).map((row) => (
          <li key={`${row.policy_id}/${row.version}`} data-policy={`${row.policy_id}/${row.version}`}>
            <strong>{row.policy_id}</strong> version {row.version} <TokenInfo row={row} />{' '}
            <span class="quiet">
              {row.gate_count ?? '?'} gates, until {row.valid_until?.slice(0, 10) ?? 'unknown'}
            </span>
            <span class="actions">
              <button type="button" class="link" onClick={() => attempt(open(client, genesis, row).then(setOpened))}>
                Read {row.policy_id} {row.version}
              </button>
              {row.active ? (
                <button type="button" class="link" onClick={() => bring('policy-deactivate', named(row))}>
                  Deactivate {row.policy_id} {row.version}…
                </button>
              ) : (
                <button type="button" class="link" onClick={() => bring('policy-activate', named(row))}>
                  Compare and activate {row.policy_id} {row.version}…
                </button>
              )}
            </span>
          </li>
        ))}
      </ul>
      {opened === undefined ? null : (
        <div class="answer" data-opened={opened.verdict.word}>
          <p>
            <Badge {...opened.verdict} /> {opened.title}
          </p>
          <pre tabIndex={0}>{opened.text}</pre>
          <button type="button" onClick={() => bring('policy-publish', { intent: opened.text })}>
            Write the next version from this one
          </button>
        </div>
      )}
    </section>
  )
}

function TokenInfo({ row }: { readonly row: BoundaryPolicyRow }): JSX.Element {
  if (!row.integrity_ok) return <Badge tone="bad" word="text changed" />
  return row.active ? <Badge tone="good" word="in force" /> : <Badge tone="ended" word="inactive" />
}

interface OpenedPolicy {
  readonly title: string
  readonly text: string
  readonly verdict: { readonly tone: string; readonly word: string }
}

/** Verifies the signature with the key of the genesis block, or a former key of that time. */
async function open(client: Client, genesis: GenesisBlock, row: BoundaryPolicyRow): Promise<OpenedPolicy> {
  const { versions } = await client.boundaryPolicies.history(row.policy_id, { limit: 1000 })
  const policy = versions.find((each) => each.version === row.version)?.policy
  if (policy === undefined || policy === null) throw new Error('The stored text differs from the published text.')
  const received = asReceived(BOUNDARY_POLICY_FORM, policy)
  const byCurrent = await verifyReceivedPlainly(received, [genesis.network_authority.public_key])
  const keys = byCurrent.ok ? undefined : await withFormerKeys(genesis)
  const verdict = keys === undefined ? byCurrent : await verifyReceivedPlainly(received, signersOf(keys, policy))
  return {
    title: `${row.policy_id} version ${row.version}, signed ${policy.issued_at} by ${policy.issued_by}`,
    text: pretty(intentOf(policy)),
    verdict: verdict.ok ? { tone: 'good', word: 'signature valid' } : { tone: 'bad', word: 'signature not valid' },
  }
}
