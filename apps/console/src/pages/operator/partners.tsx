import type { Client, ListedPartner, PartnerAlarm, PartnerState } from '@chancery/sdk'
import { useEffect, useState } from 'preact/hooks'
import type { JSX } from 'preact'
import { explain } from '../../authority.ts'
import { Badge } from '../../components/badge.tsx'
import type { Values } from './action.ts'

const PAGE = 200

const TONES: Readonly<Record<PartnerState, string>> = {
  alarm: 'bad',
  stale: 'bad',
  watch: 'watch',
  new: 'plain',
  paused: 'ended',
  fresh: 'good',
}

type Bring = (id: string, values: Values) => void

/** The partners with their state, the last pull and open alarms. */
export function Partners({ client, bring }: { readonly client: Client; readonly bring: Bring }): JSX.Element {
  const [rows, setRows] = useState<readonly ListedPartner[]>()
  const [note, setNote] = useState('')
  const [problem, setProblem] = useState('')
  const load = (): void => {
    client.partners.list({ limit: PAGE }).then(
      (page) => {
        setProblem('')
        setRows(page.partners)
      },
      (error: unknown) => setProblem(explain(error)),
    )
  }
  useEffect(load, [client])
  const pull = (name: string): void => {
    setNote(`Reading ${name}…`)
    client.partners.pull(name).then(
      ({ outcome }) => {
        setNote(`${name}: ${outcome}.`)
        load()
      },
      (error: unknown) => setNote(explain(error)),
    )
  }
  return (
    <section class="card" data-partners>
      <h2>Partners {rows === undefined ? '' : <span class="quiet">{rows.length}</span>}</h2>
      <p>
        <button type="button" class="quiet-button" onClick={load}>
          Read again
        </button>
      </p>
      {problem === '' ? null : <p role="alert">{problem}</p>}
      <p role="status">{note}</p>
      {rows === undefined ? null : <Rows rows={rows} client={client} bring={bring} pull={pull} />}
    </section>
  )
}

interface RowsProps {
  readonly rows: readonly ListedPartner[]
  readonly client: Client
  readonly bring: Bring
  readonly pull: (name: string) => void
}

const COLUMNS = ['Partner', 'State', 'Last pull', 'Feed', 'Treaties', 'Work']

function Rows({ rows, client, bring, pull }: RowsProps): JSX.Element {
  return (
    <div class="table" role="region" aria-label="Partners" tabIndex={0}>
      <table data-listed={rows.length}>
        <thead>
          <tr>
            {COLUMNS.map((name) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <Row key={row.sovereign_id} row={row} client={client} bring={bring} pull={pull} />
          ))}
          {rows.length === 0 ? (
            <tr>
              <td colSpan={COLUMNS.length}>No partners.</td>
            </tr>
          ) : null}
        </tbody>
      </table>
    </div>
  )
}

function Row({ row, client, bring, pull }: Omit<RowsProps, 'rows'> & { readonly row: ListedPartner }): JSX.Element {
  const { sovereign_id, last_pull: last, feed } = row
  const work = (label: string, run: () => void): JSX.Element => (
    <button type="button" class="link" aria-label={`${label} ${sovereign_id}`} onClick={run}>
      {label}
    </button>
  )
  return (
    <tr>
      <td data-label="Partner">
        <strong>{sovereign_id}</strong> {row.label ?? ''}
      </td>
      <td data-label="State">
        <Badge tone={TONES[row.state]} word={row.state} /> {row.reasons.join(', ')}
        {row.state === 'alarm' ? <Alarms row={row} client={client} bring={bring} /> : null}
      </td>
      <td data-label="Last pull">
        {last === null ? 'none' : `${last.outcome}, ${last.at.slice(0, 16).replace('T', ' ')}`}
      </td>
      <td data-label="Feed">
        {feed === null ? '–' : `${feed.sequence}${row.import_feeds === 'on' ? ', imported' : ''}`}
      </td>
      <td data-label="Treaties">{row.treaties?.active ?? '–'}</td>
      <td data-label="Work">
        {work('Pull', () => pull(sovereign_id))} {work('Repin…', () => bring('partner-repin', { sovereign_id }))}{' '}
        {work('Remove…', () => bring('partner-remove', { sovereign_id }))}
      </td>
    </tr>
  )
}

/** The open alarms of one partner. A list of partners does not have them. */
function Alarms({
  row,
  client,
  bring,
}: Omit<RowsProps, 'rows' | 'pull'> & { readonly row: ListedPartner }): JSX.Element {
  const { sovereign_id } = row
  const [alarms, setAlarms] = useState<readonly PartnerAlarm[]>([])
  useEffect(() => {
    let isCurrent = true
    client.partners.get(sovereign_id).then(
      (found) => isCurrent && setAlarms(found.alarms.filter((alarm) => alarm.cleared_at === null)),
      () => isCurrent && setAlarms([]),
    )
    return () => {
      isCurrent = false
    }
  }, [row])
  return (
    <ul class="plain">
      {alarms.map(({ alarm_id, kind, material, raised_at }) => (
        <li key={alarm_id}>
          {kind}, {material}, {raised_at.slice(0, 16).replace('T', ' ')}{' '}
          <button
            type="button"
            class="link"
            aria-label={`Clear alarm ${kind} of ${sovereign_id}`}
            onClick={() => bring('partner-clear-alarm', { sovereign_id, alarm_id })}
          >
            Clear…
          </button>
        </li>
      ))}
    </ul>
  )
}
