import type { AgentDescriptor } from '@chancery/protocol'
import type { NodeSummary } from '@chancery/sdk/authority'
import type { JSX } from 'preact'
import { at, read } from '../../client.ts'
import { keyFromPath, nodeHref, nodeName } from '../../node-key.ts'
import type { PageProps } from '../../pages.ts'
import { Bar } from '../../parts/bar.tsx'
import { Facts } from '../../parts/facts.tsx'
import { Copy, Id } from '../../parts/id.tsx'
import { Blank, Problem } from '../../parts/problem.tsx'
import { State } from '../../parts/state.tsx'
import { Time } from '../../parts/time.tsx'
import { useLive } from '../../parts/use-live.ts'
import { AgentSignature } from '../../proof/agent-signature.tsx'
import { nodeState } from '../nodes/node-state.ts'

const CRUMBS = [{ href: '/operator/agents', text: 'Agents' }]

type Found = NodeSummary & { readonly agent: AgentDescriptor | null }

/** What does this agent offer? It has no action: its node removes it, or it ends with its node. */
export function Page({ params }: PageProps): JSX.Element {
  const path = params['key'] ?? ''
  if (keyFromPath(path) === undefined) return <NoAgent text="The address has no node key." />
  return <Agent path={path} />
}

function Agent({ path }: { readonly path: string }): JSX.Element {
  const live = useLive(`agent ${path}`, (signal) => read<Found>(at`/admin/nodes/${path}`, {}, signal), [
    'agents',
    'nodes',
  ])
  const node = live.value
  const agent = node?.agent
  if (node !== undefined && agent === null)
    return <NoAgent text="This node has no registered agent now." href={nodeHref(node.node_public_key)} />
  return (
    <>
      <Bar title={agent?.agent_id ?? 'Agent'} asks="What does this agent offer?" crumbs={CRUMBS} live={live} />
      <div class="content stack">
        {live.problem === undefined ? null : <Problem problem={live.problem} />}
        {node === undefined || agent === undefined || agent === null ? (
          <span class="bone" />
        ) : (
          <>
            <Descriptor node={node} agent={agent} />
            <SignedRecord agent={agent} />
          </>
        )}
      </div>
    </>
  )
}

function NoAgent({ text, href }: { readonly text: string; readonly href?: string }): JSX.Element {
  return (
    <>
      <Bar title="Agent" crumbs={CRUMBS} />
      <Blank icon="agent" title="No such agent" text={text}>
        <a class="btn" href={href ?? '/operator/agents'}>
          {href === undefined ? 'All agents' : 'Open the node'}
        </a>
      </Blank>
    </>
  )
}

function Descriptor({ node, agent }: { readonly node: NodeSummary; readonly agent: AgentDescriptor }): JSX.Element {
  const { scheme, host, port } = agent.endpoint
  return (
    <section class="panel">
      <header>
        <h2>Descriptor</h2>
        <div class="end">
          <AgentSignature agent={agent} />
        </div>
      </header>
      <div class="body">
        <Facts
          of={[
            ['Agent', agent.agent_id],
            ['Can do', <Capabilities of={agent.capabilities} />],
            ['Where', <span class="mono">{`${scheme}://${host}:${port}`}</span>],
            [
              'Node',
              <>
                <a href={nodeHref(node.node_public_key)}>{nodeName({ ...node, agent_id: null })}</a>{' '}
                <State {...nodeState(node.state)} />
              </>,
            ],
            ['Node key', <Id id={node.node_public_key} what="the node key" whole />],
            ['Registered', <Time at={agent.registered_at} both />],
            ['Ends', <Time at={agent.expires_at} both />],
          ]}
        />
      </div>
    </section>
  )
}

/** Each opens the list of agents with it. */
function Capabilities({ of }: { readonly of: readonly string[] }): JSX.Element {
  if (of.length === 0) return <>nothing</>
  return (
    <>
      {of.map((capability) => (
        <a class="tag" key={capability} href={`/operator/agents?${new URLSearchParams({ capability }).toString()}`}>
          {capability}
        </a>
      ))}
    </>
  )
}

function SignedRecord({ agent }: { readonly agent: AgentDescriptor }): JSX.Element {
  const text = JSON.stringify(agent, null, 2)
  return (
    <section class="panel">
      <header>
        <h2>Signed record</h2>
      </header>
      <div class="body codebox">
        <pre class="code" tabIndex={0}>
          {text}
        </pre>
        <Copy text={text} what="the signed record" />
      </div>
    </section>
  )
}
