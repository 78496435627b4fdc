import type { ComponentChildren, JSX } from 'preact'
import type { Attestation, JsonValue } from '@chancery/protocol'
import { plain } from '../../../components/plain.ts'
import { CallError, at, read } from '../../client.ts'
import { Facts, Roles } from '../../parts/facts.tsx'
import { Id } from '../../parts/id.tsx'
import { State } from '../../parts/state.tsx'
import { Time } from '../../parts/time.tsx'
import { useLive } from '../../parts/use-live.ts'
import type { DecisionStory } from '../../proof/decision-group.ts'
import { outcomeState, parametersText } from '../../words/decisions.ts'
import { resourceHref, vendorHref } from '../history/links.ts'

interface StoryProps {
  readonly story: DecisionStory
}

export function Step(props: {
  readonly number: number
  readonly title: string
  readonly note: string
  readonly state: 'pass' | 'fail' | 'none'
  readonly children: ComponentChildren
}): JSX.Element {
  return (
    <li class={props.state === 'none' ? '' : props.state}>
      <span class="step">{props.number}</span>
      <div>
        <h2>
          {props.title}
          <small>{props.note}</small>
        </h2>
        {props.children}
      </div>
    </li>
  )
}

const Panel = ({ children }: { readonly children: ComponentChildren }): JSX.Element => (
  <div class="panel">
    <div class="body">{children}</div>
  </div>
)

const code = (text: string): JSX.Element | undefined => (text === '' ? undefined : <span class="mono">{text}</span>)

export function Request({ story: { context, entry } }: StoryProps): JSX.Element {
  return (
    <Panel>
      <Facts
        of={[
          [
            'Asked by',
            <>
              {entry.vendor_id === null ? null : <a href={vendorHref(entry.vendor_id)}>{entry.vendor_id}</a>}
              {context.requester_sovereign_id === entry.vendor_id ? null : (
                <span class="quiet"> · requester {context.requester_sovereign_id}</span>
              )}
            </>,
          ],
          ['For what', code(context.requested_capability)],
          ['With', code(parametersText(context.request_parameters))],
          ['Attributes', code(parametersText(context.attributes))],
          ['Time', <Time at={context.requested_at} both />],
        ]}
      />
    </Panel>
  )
}

/** The row of an attestation: the signed record, and its state today. */
interface AttestationRow {
  readonly status: string
  readonly attestation: Attestation
}

export function Basis({ story }: StoryProps): JSX.Element {
  const { decision, context } = story
  const binding = decision.attestation_binding
  if (binding === undefined)
    return (
      <Panel>
        <Facts
          of={[
            ['Agreement', <Id id={decision.agreement_id} what="the agreement id" whole />],
            ['Parties', `${context.requester_sovereign_id} and ${context.provider_sovereign_id}`],
            ['Record', 'The two parties store it. The authority verified it and stores its id.'],
          ]}
        />
      </Panel>
    )
  return (
    <Panel>
      <Facts
        of={[
          [
            'Attestation',
            <>
              <Id id={binding.attestation_id} what="the attestation id" /> of {binding.issuer_sovereign_id ?? 'unknown'}{' '}
              for <b>{binding.subject_id ?? 'unknown'}</b>
            </>,
          ],
          ['Revocation feed', `checked up to sequence ${binding.revocation_seq_checked}`],
        ]}
      />
      <Today id={binding.attestation_id} />
    </Panel>
  )
}

/** How the attestation is today. A decision stays as it was, also when the attestation ended later. */
function Today({ id }: { readonly id: string }): JSX.Element | null {
  const { value, problem } = useLive(`attestation ${id}`, (signal) =>
    read<AttestationRow>(at`/attestations/${id}`, {}, signal),
  )
  if (problem instanceof CallError && value === undefined)
    return <p class="quiet">Today: {problem.status === 404 ? 'it is not stored here' : problem.message}</p>
  if (value === undefined) return null
  const { attestation, status } = value
  const { roles, claims, valid_from, expires_at } = attestation
  const isOver = Date.parse(expires_at) < Date.now()
  return (
    <Facts
      of={[
        ['Claims', <>{claimText(claims['capabilities'])}</>],
        ['Roles', <Roles roles={roles} />],
        ['Valid', `${valid_from.slice(0, 10)} to ${expires_at.slice(0, 10)}`],
        [
          'Today',
          <State
            shape={status === 'active' && !isOver ? 'circle' : 'cross'}
            tone={status === 'active' && !isOver ? 'good' : 'ended'}
            word={status === 'active' ? (isOver ? 'Expired' : 'Active') : status}
          />,
        ],
      ]}
    />
  )
}

function claimText(value: JsonValue | undefined): JSX.Element {
  const names = Array.isArray(value) ? (value as readonly JsonValue[]) : []
  if (names.length === 0) return <span class="quiet">no capabilities</span>
  return (
    <>
      {names.map((name) => (
        <span class="tag" key={plain(name)}>
          {plain(name)}
        </span>
      ))}
    </>
  )
}

export function Answer({ story: { decision, entry } }: StoryProps): JSX.Element {
  return (
    <Panel>
      <Facts
        of={[
          [
            'Outcome',
            <>
              <State {...outcomeState(entry.outcome)} isPill />{' '}
              <span class="quiet">· {decision.denial_reason ?? 'every enforced gate passed'}</span>
            </>,
          ],
          ['Valid until', <Time at={decision.decision_valid_until} both />],
          ['Signed by', `${decision.signature?.key_id ?? 'no key'}, as ${decision.operator_sovereign_id}`],
        ]}
      />
    </Panel>
  )
}

export function Done({ story, isOver }: StoryProps & { readonly isOver: boolean }): JSX.Element {
  if (!story.decision.authorized)
    return <p class="quiet">None. A denied decision cannot be executed, and the store refuses a record of it.</p>
  if (story.done.length === 0)
    return <p class="quiet">{isOver ? 'The decision was not used while it was valid.' : 'None yet.'}</p>
  return (
    <div class="panel">
      <div class="table" role="region" aria-label="Executions" tabIndex={0}>
        <table>
          <tbody>
            {story.done.map(({ entry, record }) => (
              <tr key={record.evidence_id}>
                <td>
                  <State {...outcomeState(entry.outcome)} />
                </td>
                <td>
                  <b>{record.evidence_id}</b>
                </td>
                <td>
                  {record.resource_action ?? record.executed_capability}{' '}
                  {record.resource_id === undefined || record.resource_id === null ? null : (
                    <a href={resourceHref(record.resource_id)}>{record.resource_id}</a>
                  )}
                </td>
                <td>
                  by {record.executor_sovereign_id}, key <span class="mono">{record.signature?.key_id}</span>
                </td>
                <td class="num">
                  <Time at={record.executed_at} /> <span class="id">#{entry.store_sequence}</span>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </div>
  )
}
