import type { JSX } from 'preact'
import { at, authorityNow, read } from '../../client.ts'
import { keyFromPath, nodeName } from '../../node-key.ts'
import type { PageProps } from '../../pages.ts'
import { Bar } from '../../parts/bar.tsx'
import { Roles } from '../../parts/facts.tsx'
import { offerFile } from '../../parts/file.ts'
import { Icon } from '../../parts/icon.tsx'
import { Id, shortId } from '../../parts/id.tsx'
import { Arrows, useListHref } from '../../parts/neighbours.tsx'
import { Blank, Problem } from '../../parts/problem.tsx'
import { State } from '../../parts/state.tsx'
import { Time } from '../../parts/time.tsx'
import { useLive } from '../../parts/use-live.ts'
import { withQuery } from '../../router.ts'
import { Acts } from '../../signing/review.tsx'
import { nodeState } from '../nodes/node-state.ts'
import { revokeAct } from '../nodes/revoke.ts'
import { labelAct } from './label.ts'
import { Side } from './side.tsx'
import { type AuditEvent, type HistoryEvent, type NodeView, byDay, historyOf, isUsable, toRevoke } from './history.ts'

const CRUMBS = [{ href: '/operator/nodes', text: 'Nodes' }]
const MOST_EVENTS = 50

interface NodeHistory {
  readonly node: NodeView
  /** Audit events that name the node, newest first. */
  readonly events: readonly AuditEvent[]
}

async function load(path: string, signal: AbortSignal): Promise<NodeHistory> {
  const [node, { events }] = await Promise.all([
    read<NodeView>(at`/admin/nodes/${path}`, {}, signal),
    read<{ readonly events: readonly AuditEvent[] }>(at`/admin/nodes/${path}/events`, { limit: MOST_EVENTS }, signal),
  ])
  return { node, events }
}

/** What happened to this node? One page per node key, through all its certificates. */
export function Page({ params, query }: PageProps): JSX.Element {
  const path = params['key'] ?? ''
  if (keyFromPath(path) === undefined)
    return <NoNode text="The address has no node key. It ends with 43 characters of base64url." />
  return <Node path={path} query={query} />
}

function Node({ path, query }: { readonly path: string; readonly query: URLSearchParams }): JSX.Element {
  const crumbs = [{ href: useListHref('/operator/nodes'), text: 'Nodes' }]
  const live = useLive(`node ${path}`, (signal) => load(path, signal), ['nodes', 'agents', 'invites'])
  if (live.problem?.code === 'node_not_found')
    return <NoNode text="This authority issued no certificate for this key." />
  const node = live.value?.node
  const name = node === undefined ? 'Node' : nodeName(node)
  const events = node === undefined ? [] : historyOf(node, live.value?.events ?? [], authorityNow())
  const chosen = query.get('cert')
  const revoked = node === undefined ? undefined : toRevoke(node, chosen)
  return (
    <>
      <Bar title={name} asks="What happened to this node?" crumbs={crumbs} live={live}>
        <Arrows what="node" />
      </Bar>
      <div class="content">
        {live.problem === undefined ? null : <Problem problem={live.problem} />}
        {node === undefined ? (
          <span class="bone" />
        ) : (
          <>
            {revoked === undefined ? <NotListed id={chosen ?? ''} /> : null}
            <Hero node={node} events={events} />
            <div class="split">
              <Timeline events={events} />
              <Side node={node} />
            </div>
            <Acts of={[...(revoked === undefined ? [] : [revokeAct([revoked])]), labelAct(node)]} query={query} />
          </>
        )}
      </div>
    </>
  )
}

/** The address names a certificate that the page does not have: another one must not be revoked in its place. */
function NotListed({ id }: { readonly id: string }): JSX.Element {
  return (
    <p class="banner watch" role="alert" data-not-listed>
      The certificate {shortId(id)} of this address is not listed here and cannot be revoked from this page.
    </p>
  )
}

function NoNode({ text }: { readonly text: string }): JSX.Element {
  return (
    <>
      <Bar title="Node" crumbs={CRUMBS} />
      <Blank icon="node" title="No such node" text={text}>
        <a class="btn" href="/operator/nodes">
          All nodes
        </a>
      </Blank>
    </>
  )
}

function Hero({ node, events }: { readonly node: NodeView; readonly events: readonly HistoryEvent[] }): JSX.Element {
  const name = nodeName(node)
  const now = authorityNow()
  const canRevoke = node.certificates.some((each) => isUsable(each, now))
  const save = (): void => {
    const history = events.map(({ at: time, title, text }) => ({ at: time, title, text }))
    offerFile(`${name}.history.json`, JSON.stringify({ node, history }, null, 2))
  }
  return (
    <div class="hero">
      <div>
        <h2>
          {name} <State {...nodeState(node.state)} isPill />
        </h2>
        <div class="meta">
          <span>
            <Roles roles={node.roles} />
          </span>
          <span>
            joined <Time at={node.joined_at} />
          </span>
          <span>
            certificate ends <Time at={node.expires_at} />
          </span>
          <Id id={node.node_public_key} what="the node key" />
        </div>
      </div>
      <div class="end">
        <button type="button" class="btn" onClick={save}>
          <Icon name="file" />
          History as file
        </button>
        {canRevoke ? (
          <a class="btn danger" href={withQuery({ do: 'revoke', cert: undefined })} data-revoke>
            Revoke…
          </a>
        ) : null}
      </div>
    </div>
  )
}

function Timeline({ events }: { readonly events: readonly HistoryEvent[] }): JSX.Element {
  return (
    <section aria-label="History">
      <ol class="timeline">
        {byDay(events).map(([day, group]) => (
          <>
            <li class="day" key={day}>
              {day}
            </li>
            {group.map((event) => (
              <li
                key={`${event.at} ${event.title}`}
                class={`event${event === events[0] ? ' first' : ''}${event === events.at(-1) ? ' last' : ''}`}
              >
                <span class={`dot ${event.tone ?? ''}`}>
                  <Icon name={event.icon} />
                </span>
                <div>
                  <h3>{event.title}</h3>
                  <p>{event.text}</p>
                </div>
                <div class="at">
                  {event.at.slice(11, 19)} UTC
                  <small>
                    <Time at={event.at} />
                  </small>
                </div>
              </li>
            ))}
          </>
        ))}
      </ol>
    </section>
  )
}
