import type { EvidenceStoreEntry } from '@chancery/protocol'
import type { Client, EvidenceFilter } from '@chancery/sdk'
import { useState } from 'preact/hooks'
import type { JSX } from 'preact'
import { explain } from '../../authority.ts'
import { Badge } from '../../components/badge.tsx'
import { checkChain } from './check-chain.ts'
import type { Authority, CheckedChain } from './check-chain.ts'
import { FilterForm } from './evidence-filter.tsx'
import { StoreHead } from './store-head.tsx'

type Shown =
  | { readonly kind: 'nothing' }
  | { readonly kind: 'busy' }
  | { readonly kind: 'problem'; readonly why: string }
  | { readonly kind: 'chain'; readonly chain: CheckedChain }
  | {
      readonly kind: 'found'
      readonly asked: EvidenceFilter
      readonly entries: readonly EvidenceStoreEntry[]
      readonly next: number | null
    }

const PAGE = 50

/** Searches decisions and executions, and verifies the whole chain in this browser. */
export function Evidence(props: { readonly client: Client; readonly authority: Authority }): JSX.Element {
  const { client, authority } = props
  const [shown, setShown] = useState<Shown>({ kind: 'nothing' })
  const [filter, setFilter] = useState<EvidenceFilter>({})
  const isBusy = shown.kind === 'busy'
  const attempt = async (work: () => Promise<Shown>): Promise<void> => {
    setShown({ kind: 'busy' })
    setShown(await work().catch((error: unknown): Shown => ({ kind: 'problem', why: explain(error) })))
  }
  const search = (asked: EvidenceFilter, before: readonly EvidenceStoreEntry[]): void =>
    void attempt(async () => {
      const page = await client.evidence.page({ ...asked, limit: PAGE })
      const entries = [...before, ...page.entries.map(({ entry }) => entry)]
      return { kind: 'found', asked, entries, next: page.next_after_sequence }
    })
  const verify = (): void => void attempt(async () => ({ kind: 'chain', chain: await checkChain(client, authority) }))
  return (
    <section class="card" data-evidence>
      <h2>Evidence</h2>
      <StoreHead client={client} />
      <FilterForm
        isBusy={isBusy}
        search={(asked) => {
          setFilter(asked)
          search(asked, [])
        }}
      />
      <p class="actions">
        <button type="button" class="quiet-button" disabled={isBusy} onClick={verify}>
          Verify the chain here
        </button>
      </p>
      {isBusy ? <p role="status">Reading…</p> : null}
      {shown.kind === 'problem' ? <p role="alert">{shown.why}</p> : null}
      {shown.kind === 'chain' ? <Chain chain={shown.chain} /> : null}
      {shown.kind === 'found' ? (
        <Found
          entries={shown.entries}
          more={shown.next === null ? undefined : (next) => search({ ...filter, after_sequence: next }, shown.entries)}
          next={shown.next ?? 0}
        />
      ) : null}
    </section>
  )
}

function Found(props: {
  readonly entries: readonly EvidenceStoreEntry[]
  readonly next: number
  readonly more: ((next: number) => void) | undefined
}): JSX.Element {
  const { entries, next, more } = props
  return (
    <>
      <ol class="plain" data-found={entries.length}>
        {entries.map((entry) => (
          <li key={entry.store_sequence}>
            <Entry entry={entry} />
          </li>
        ))}
        {entries.length === 0 ? <li>No entries match.</li> : null}
      </ol>
      {more === undefined ? null : (
        <button type="button" class="quiet-button" onClick={() => more(next)}>
          More
        </button>
      )}
    </>
  )
}

function Chain({ chain }: { readonly chain: CheckedChain }): JSX.Element {
  const { report, newest, isWhole, beginsLater, anchors } = chain
  const holds = report.failures.length === 0
  return (
    <div role="status">
      <p data-chain={holds ? 'holds' : 'broken'}>
        <Badge tone={holds ? 'good' : 'bad'} word={holds ? 'chain is valid' : 'chain is broken'} />{' '}
        {report.checked_entries} entries checked in this browser: {report.decisions} decisions, {report.executions}{' '}
        executions.
        {isWhole ? '' : ' There are more; the command line checks a store of any size.'}
        {beginsLater ? ' Its beginning was removed by retention.' : ''}{' '}
        {anchors.length === 0
          ? 'No anchor yet.'
          : `${anchors.length} ${anchors.length === 1 ? 'anchor' : 'anchors'}, the newest at #${anchors[0]?.store_sequence ?? 0}.`}
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
            <code title={digest}>{digest.slice(0, 16)}…</code>{' '}
            {anchors.some((anchor) => anchor.entry_digest === digest) ? <Badge tone="good" word="anchored" /> : null}
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
