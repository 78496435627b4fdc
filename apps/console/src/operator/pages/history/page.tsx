import type { JsonObject } from '@chancery/protocol'
import type { EvidenceEvent, NewestPage } from '@chancery/sdk/authority'
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { at, read, readJsonText } from '../../client.ts'
import type { PageProps } from '../../pages.ts'
import { Bar } from '../../parts/bar.tsx'
import { Facts } from '../../parts/facts.tsx'
import { Pager, pageSize } from '../../parts/pager.tsx'
import { Problem } from '../../parts/problem.tsx'
import { State } from '../../parts/state.tsx'
import { Time } from '../../parts/time.tsx'
import { useLive } from '../../parts/use-live.ts'
import { splitObjects } from '../../proof/split-lines.ts'
import { StoreOff, isStoreOff } from '../../proof/store-off.tsx'
import { VerifiedHere, useCheck } from '../../proof/verified-here.tsx'
import { kindText, outcomeState } from '../../words/decisions.ts'
import { resourceHref, vendorHref } from './links.ts'

interface History {
  readonly truncated: boolean
  readonly entries: readonly EvidenceEvent[]
  /** The last record, as the retention checkpoint has it, when every entry was removed. */
  readonly head?: { readonly resource_sequence: number; readonly record_digest: string }
  readonly verification: {
    readonly verified: boolean
    readonly checked_entries: number
    readonly decisions: number
    readonly executions: number
    readonly failures: readonly JsonObject[]
  }
  /** The entries as sent: digests cover their bytes. */
  readonly lines: readonly string[]
  /** The newest sequence before the history was read. Refused records count in it, and are not in the history. */
  readonly newest: number
}

/** What was decided and done about one resource, or for one vendor. The address has the id of one of them. */
export function Page({ params }: PageProps): JSX.Element {
  const { resource_id: resource, vendor_id: vendor } = params
  const id = resource ?? vendor ?? ''
  return <HistoryPage key={`${resource === undefined}${id}`} id={id} isResource={resource !== undefined} />
}

interface Of {
  readonly id: string
  readonly isResource: boolean
}

/** A history can have 10,000 entries. It is read once; after a change only its newest entry is asked for. */
function HistoryPage({ id, isResource }: Of): JSX.Element {
  const live = useLive(`history ${id}`, (signal) => load({ id, isResource }, signal), [], { isOnce: true })
  const newest = useLive(`newest of ${id}`, (signal) => findNewest({ id, isResource }, signal), ['evidence'])
  const { value } = live
  const bar = (
    <Bar
      title={id}
      asks={isResource ? 'What was done to this resource?' : 'What did this vendor ask for?'}
      crumbs={[{ href: '/operator/evidence', text: 'Evidence' }]}
      live={newest}
    />
  )
  if (isStoreOff(live.problem)) return <StoreOff bar={bar} />
  const isOlder = value !== undefined && !value.truncated && (newest.value ?? 0) > value.newest
  return (
    <>
      {bar}
      {live.problem === undefined ? null : <Problem problem={live.problem} />}
      <p role="status" class={isOlder ? 'newer' : 'unseen'}>
        {isOlder ? (
          <button type="button" class="btn tiny" data-newer onClick={() => live.reload()}>
            ↑ Show newer entries
          </button>
        ) : null}
      </p>
      {value === undefined ? null : (
        <>
          <Summary history={value} id={id} isResource={isResource} />
          <Entries key={live.readAt} {...value} isResource={isResource} />
        </>
      )}
    </>
  )
}

/** The sequence of the newest entry, or 0. */
async function findNewest({ id, isResource }: Of, signal: AbortSignal): Promise<number> {
  const asked = { order: 'newest', limit: 1, ...(isResource ? { resource_id: id } : { vendor_id: id }) }
  const { entries } = await read<NewestPage>(at`/admin/evidence`, asked, signal)
  return entries[0]?.entry.store_sequence ?? 0
}

async function load({ id, isResource }: Of, signal: AbortSignal): Promise<History> {
  // Before the history: an entry that comes between the two reads is offered once more, and never missed.
  const newest = await findNewest({ id, isResource }, signal)
  const target = isResource ? at`/admin/evidence/resources/${id}` : at`/admin/evidence/vendors/${id}`
  const text = await readJsonText(target, {}, signal)
  const lines = splitObjects(text, 'entries')
  // The rows are those of the checked lines, and of nothing else in the response. A line that is no entry fails the check.
  const entries = lines
    .map((line) => JSON.parse(line) as Partial<EvidenceEvent>)
    .filter((event): event is EvidenceEvent => event.entry !== undefined)
  return { ...(JSON.parse(text) as Omit<History, 'lines' | 'entries' | 'newest'>), entries, lines, newest }
}

function Summary({ history, id, isResource }: Of & { readonly history: History }): JSX.Element {
  const { truncated, verification, lines, head } = history
  const finding = useCheck(lines.join('\n'), async () => {
    if (truncated) throw new Error('the history is longer than one response. Use chancery verify')
    if (lines.length === 0) throw new Error('there is no entry to check')
    const { checkHistory } = await import('../../proof/check-history.ts')
    const [first = '', ...others] = await checkHistory(lines, isResource ? { resource: id } : { vendor: id })
    return others.length === 0 ? first : `${first}. More problems: ${others.length}`
  })
  return (
    <div class="content">
      <section class="panel">
        <header>
          <h2>{isResource ? 'History of the resource' : 'History of the vendor'}</h2>
          <div class="end" data-verified-here={finding === undefined ? 'waiting' : 'done'}>
            <VerifiedHere finding={finding} />
          </div>
        </header>
        <div class="body">
          <Facts
            of={[
              [isResource ? 'Resource' : 'Vendor', id],
              [
                'Entries',
                <>
                  {lines.length.toLocaleString('en')}
                  {truncated ? (
                    <>
                      , the oldest ones. <a href={entriesHref({ id, isResource })}>Show the newest entries</a>
                    </>
                  ) : null}
                </>,
              ],
              ['Decisions', verification.decisions.toLocaleString('en')],
              ['Executions', verification.executions.toLocaleString('en')],
              ['The authority reports', <Reported of={verification} />],
              [
                'Removed by retention',
                head === undefined ? undefined : `all entries; the last record was number ${head.resource_sequence}`,
              ],
            ]}
          />
        </div>
      </section>
    </div>
  )
}

const entriesHref = ({ id, isResource }: Of): string =>
  `/operator/evidence?${new URLSearchParams(isResource ? { resource_id: id } : { vendor_id: id }).toString()}`

function Reported({ of }: { readonly of: History['verification'] }): JSX.Element {
  return of.verified ? (
    <State shape="tick" tone="good" word={`${of.checked_entries} entries verified`} />
  ) : (
    <State shape="square" tone="bad" word={`${of.failures.length} problems`} />
  )
}

function Entries(props: Pick<History, 'entries' | 'truncated'> & Pick<Of, 'isResource'>): JSX.Element | null {
  const { entries, truncated, isResource } = props
  const [from, setFrom] = useState(0)
  const size = pageSize()
  if (entries.length === 0) return null
  const rows = entries.toReversed().slice(from, from + size)
  return (
    <>
      <EntryTable rows={rows} isResource={isResource} />
      <Pager
        first={from + 1}
        count={rows.length}
        total={entries.length}
        order={truncated ? 'the oldest entries of the history, the latest of them first' : 'newest first'}
        onBack={from === 0 ? undefined : () => setFrom(Math.max(0, from - size))}
        onNext={from + size >= entries.length ? undefined : () => setFrom(from + size)}
      />
    </>
  )
}

function EntryTable({
  rows,
  isResource,
}: Pick<Of, 'isResource'> & { readonly rows: readonly EvidenceEvent[] }): JSX.Element {
  return (
    <div class="table" tabIndex={0} role="region" aria-label="Entries">
      <table class="rows">
        <thead>
          <tr>
            <th scope="col">Sequence</th>
            <th scope="col">Kind</th>
            <th scope="col">What</th>
            <th scope="col">Outcome</th>
            <th scope="col">{isResource ? 'Vendor' : 'Resource'}</th>
            <th scope="col">Recorded</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((event) => (
            <Row key={event.entry_digest} {...event} isResource={isResource} />
          ))}
        </tbody>
      </table>
    </div>
  )
}

function Row({ entry, isResource }: EvidenceEvent & Pick<Of, 'isResource'>): JSX.Element {
  const { vendor_id, resource_id, decision_id } = entry
  return (
    <tr>
      <td class="p-d">
        <a class="id" href={`/operator/evidence?entry=${entry.store_sequence}`}>
          #{entry.store_sequence}
        </a>
      </td>
      <td class="p-c">{kindText(entry.entry_kind)}</td>
      <td class="p-a">
        <a class="name" href={`/operator/decisions/${encodeURIComponent(decision_id ?? '')}`}>
          {entry.entry_kind === 'execution'
            ? `${entry.evidence_id ?? ''}, ${entry.resource_action ?? ''}`
            : entry.capability}
        </a>
      </td>
      <td class="p-b">{entry.outcome === null ? '–' : <State {...outcomeState(entry.outcome)} />}</td>
      <td>
        {isResource
          ? vendor_id !== null && <a href={vendorHref(vendor_id)}>{vendor_id}</a>
          : resource_id !== null && <a href={resourceHref(resource_id)}>{resource_id}</a>}
      </td>
      <td>
        <Time at={entry.recorded_at} />
      </td>
    </tr>
  )
}
