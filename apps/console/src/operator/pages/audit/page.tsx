import { AUDIT_EVENTS } from '@chancery/contract'
import type { JsonObject } from '@chancery/protocol'
import type { AuditPage } from '@chancery/sdk/authority'
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { plain } from '../../../components/plain.ts'
import { at, read } from '../../client.ts'
import { session } from '../../key.ts'
import { nodeHref } from '../../node-key.ts'
import type { PageProps } from '../../pages.ts'
import { Bar, type Liveness } from '../../parts/bar.tsx'
import { Drawer } from '../../parts/drawer.tsx'
import { Facts } from '../../parts/facts.tsx'
import type { Filter } from '../../parts/filters.tsx'
import { Copy, Id, shortId } from '../../parts/id.tsx'
import { type Column, List, type ListPage, type ListRequest } from '../../parts/list.tsx'
import { Time } from '../../parts/time.tsx'
import { navigate, withQuery } from '../../router.ts'
import { eventActor, eventText } from '../../words/events.ts'
import { AUDIT_KINDS, auditQuery } from './kinds.ts'

/** One redacted event. Its number is null for a moment after it. */
interface AuditEvent {
  readonly number: number | null
  readonly event_id: string
  readonly event_type: string
  readonly created_at: string
  readonly details: JsonObject
}

const own = (): string => session.get()?.keyId ?? ''
const openHref = (event: AuditEvent): string => withQuery({ open: event.event_id })
const detail = (event: AuditEvent, name: string): string => plain(event.details[name] ?? '')

const COLUMNS: readonly Column<AuditEvent>[] = [
  { head: 'When', phone: 'd', cell: (event) => <Time at={event.created_at} /> },
  { head: 'Who', phone: 'c', cell: (event) => eventActor(event.event_type, event.details, own()) },
  {
    head: 'What',
    phone: 'a',
    cell: (event) => (
      <>
        <span class="two">
          <a class="name" href={openHref(event)}>
            {eventText(event.event_type, event.details)}
          </a>
        </span>
        <span class="two id">{event.event_type}</span>
      </>
    ),
  },
  { head: 'From', low: 'low', cell: (event) => <span class="mono quiet">{detail(event, 'remote_addr') || '–'}</span> },
  {
    head: 'Request',
    low: 'low2',
    cell: (event) => {
      const id = detail(event, 'request_id')
      return id === '' ? <span class="quiet">–</span> : <Id id={id} what="the request id" />
    },
  },
  { head: 'Number', phone: 'b', isNumber: true, cell: (event) => event.number?.toLocaleString('en') ?? '–' },
]

const FILTERS: readonly Filter[] = [
  {
    parameter: 'event',
    label: 'Event',
    choices: Object.keys(AUDIT_EVENTS).map((type) => ({ value: type, text: type })),
  },
  { parameter: 'key_id', label: 'Who', placeholder: 'operator key id' },
  { parameter: 'request_id', label: 'Request', placeholder: 'request id' },
  { parameter: 'since', label: 'Since', placeholder: '2026-01-01T00:00:00Z' },
  { parameter: 'until', label: 'Until', placeholder: '2026-01-01T00:00:00Z' },
]

const TABS = [
  { value: '', text: 'Everything' },
  ...AUDIT_KINDS.map(({ value, text }) => ({ value, text })),
  { value: 'yours', text: 'Yours' },
]

/** Who did what, when and from where? */
export function Page({ query }: PageProps): JSX.Element {
  const [live, setLive] = useState<Liveness>({ readAt: undefined, isStale: false })
  const [page, setPage] = useState<{ readonly events: readonly AuditEvent[]; readonly last: number }>()
  const opened = page?.events.find(({ event_id }) => event_id === query.get('open'))
  return (
    <>
      <Bar title="Audit" asks="Who did what, when and from where?" live={live} />
      <List<AuditEvent>
        name="Audit events"
        topics={['audit']}
        columns={COLUMNS}
        rowId={(event) => event.event_id}
        rowName={(event) => event.event_type}
        rowHref={openHref}
        tabs={{ parameter: 'kind', label: 'Kinds of events', of: TABS }}
        search={{ label: 'Find events of an id', placeholder: 'Whole id: node key, certificate, treaty, policy' }}
        filters={FILTERS}
        load={async (request) => {
          const { events, last, nextCursor } = await load(request)
          setPage({ events, last })
          return { rows: events, nextCursor }
        }}
        order={`newest first. Numbers have no gaps; the last one is ${(page?.last ?? 0).toLocaleString('en')}`}
        empty={{
          icon: 'audit',
          title: 'No events',
          text: 'The authority records every change and every refusal here. Retention removes old events.',
          action: (
            <a class="btn primary" href="/operator/nodes?do=invite">
              Invite a node
            </a>
          ),
        }}
        onLive={setLive}
      />
      {opened === undefined ? null : <EventDrawer event={opened} />}
    </>
  )
}

async function load({
  query,
  limit,
  cursor,
  signal,
}: ListRequest): Promise<{ events: readonly AuditEvent[]; last: number } & Pick<ListPage<AuditEvent>, 'nextCursor'>> {
  const answer = await read<AuditPage>(at`/admin/audit`, { ...auditQuery(query, own()), limit, cursor }, signal)
  const events = answer.events as unknown as readonly AuditEvent[]
  return { events, last: answer.last_number, nextCursor: answer.next_cursor }
}

function EventDrawer({ event }: { readonly event: AuditEvent }): JSX.Element {
  const text = JSON.stringify(event, null, 2)
  const key = detail(event, 'node_public_key')
  return (
    <Drawer
      title={eventText(event.event_type, event.details)}
      sentence={event.event_type}
      name="event"
      isReading
      onClose={() => navigate(withQuery({ open: undefined }))}
    >
      <Facts
        of={[
          ['Number', event.number?.toLocaleString('en') ?? 'not given yet'],
          ['When', <Time at={event.created_at} both />],
          ['Who', eventActor(event.event_type, event.details, own())],
          ['From', detail(event, 'remote_addr')],
          ['Request', detail(event, 'request_id')],
          ['Node', key === '' ? undefined : <a href={nodeHref(key)}>{shortId(key)}</a>],
        ]}
      />
      <section>
        <h3>The event, redacted</h3>
        <div class="codebox">
          <pre class="code" tabIndex={0}>
            {text}
          </pre>
          <Copy text={text} what="the event" />
        </div>
      </section>
    </Drawer>
  )
}
