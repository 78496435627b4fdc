import type { EvidenceStoreEntry } from '@chancery/protocol'
import type { Client } from '@chancery/sdk'
import { useState } from 'preact/hooks'
import type { JSX } from 'preact'
import { explain } from '../../authority.ts'
import { Badge } from '../../components/badge.tsx'
import { checkChain } from './check-chain.ts'
import type { CheckedChain } from './check-chain.ts'

type Shown =
  | { readonly kind: 'nothing' }
  | { readonly kind: 'busy' }
  | { readonly kind: 'problem'; readonly why: string }
  | { readonly kind: 'chain'; readonly chain: CheckedChain }
  | { readonly kind: 'found'; readonly entries: readonly EvidenceStoreEntry[] }

/** What was decided and done, searched, and the whole chain checked in this browser. */
export function Evidence(props: { readonly client: Client; readonly authorityKey: string }): JSX.Element {
  const { client, authorityKey } = props
  const [shown, setShown] = useState<Shown>({ kind: 'nothing' })
  const [capability, setCapability] = useState('')
  const attempt = async (work: () => Promise<Shown>): Promise<void> => {
    setShown({ kind: 'busy' })
    setShown(await work().catch((error: unknown): Shown => ({ kind: 'problem', why: explain(error) })))
  }
  const search = (event: Event): void => {
    event.preventDefault()
    void attempt(async () => {
      const page = await client.evidence.page({ ...(capability === '' ? {} : { capability }), limit: 50 })
      return { kind: 'found', entries: page.entries.map(({ entry }) => entry) }
    })
  }
  const verify = (): void =>
    void attempt(async () => ({ kind: 'chain', chain: await checkChain(client, authorityKey) }))
  return (
    <section class="card" data-evidence>
      <h2>Evidence</h2>
      <form class="search" onSubmit={search}>
        <label for="evidence-capability">Capability</label>
        <input
          id="evidence-capability"
          value={capability}
          onInput={(event) => setCapability(event.currentTarget.value)}
        />
        <button disabled={shown.kind === 'busy'}>Search</button>
        <button type="button" class="quiet-button" disabled={shown.kind === 'busy'} onClick={verify}>
          Verify the chain here
        </button>
      </form>
      {shown.kind === 'busy' ? <p role="status">Reading…</p> : null}
      {shown.kind === 'problem' ? <p role="alert">{shown.why}</p> : null}
      {shown.kind === 'chain' ? <Chain chain={shown.chain} /> : null}
      {shown.kind === 'found' ? (
        <ol class="plain">
          {shown.entries.map((entry) => (
            <li key={entry.store_sequence}>
              <Entry entry={entry} />
            </li>
          ))}
          {shown.entries.length === 0 ? <li>Nothing fits.</li> : null}
        </ol>
      ) : null}
    </section>
  )
}

function Chain({ chain }: { readonly chain: CheckedChain }): JSX.Element {
  const { report, newest, isWhole, beginsLater } = chain
  const holds = report.failures.length === 0
  return (
    <div role="status">
      <p data-chain={holds ? 'holds' : 'broken'}>
        <Badge tone={holds ? 'good' : 'bad'} word={holds ? 'chain holds' : 'chain is broken'} />{' '}
        {report.checked_entries} entries checked in this browser: {report.decisions} decisions, {report.executions}{' '}
        executions.
        {isWhole ? '' : ' There are more; the command line checks a store of any size.'}
        {beginsLater ? ' Its beginning was removed by retention.' : ''}
      </p>
      {holds ? null : (
        <ul>
          {report.failures.slice(0, 20).map((failure, i) => (
            <li key={i}>
              #{failure.store_sequence ?? '?'}: {failure.reason} {failure.detail}
            </li>
          ))}
        </ul>
      )}
      <ol class="chain">
        {newest.map(({ entry, digest }) => (
          <li key={entry.store_sequence}>
            <Entry entry={entry} />
            <code title={digest}>{digest.slice(0, 16)}…</code>
          </li>
        ))}
      </ol>
    </div>
  )
}

function Entry({ entry }: { readonly entry: EvidenceStoreEntry }): JSX.Element {
  return (
    <>
      <strong>#{entry.store_sequence}</strong> {entry.entry_kind.replaceAll('_', ' ')} {entry.capability ?? ''}{' '}
      {entry.outcome === null ? null : (
        <Badge tone={/allow|authori|success/.test(entry.outcome) ? 'good' : 'ended'} word={entry.outcome} />
      )}{' '}
      <span class="quiet">{entry.recorded_at.slice(0, 19).replace('T', ' ')}</span>{' '}
    </>
  )
}
