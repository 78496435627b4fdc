import type { GateTraceEntry, JsonObject, JsonValue } from '@chancery/protocol'
import type { JSX } from 'preact'
import { plain } from '../../../components/plain.ts'
import { Icon } from '../../parts/icon.tsx'
import type { DecisionStory } from '../../proof/decision-group.ts'
import { objectOf, ruleText, valueText } from '../../words/decisions.ts'

/** Every gate in order: what it checked, and its result. Under it the drawing of the first gate that denied. */
export function Gates(props: {
  readonly story: DecisionStory
  readonly trace: readonly GateTraceEntry[]
}): JSX.Element {
  const { story, trace } = props
  const { gate_results } = story.decision
  const drawn =
    trace.find(({ result, gate_type }) => !result && isDrawn(gate_type)) ??
    trace.find((each) => isDrawn(each.gate_type))
  return (
    <>
      <div class="panel gates">
        <div class="table" role="region" aria-label="Gates" tabIndex={0}>
          <table>
            <thead>
              <tr>
                <th scope="col">
                  <span class="unseen">Result</span>
                </th>
                <th scope="col">Gate</th>
                <th scope="col">Rule of</th>
                <th scope="col">Checked</th>
                <th scope="col">Finding</th>
              </tr>
            </thead>
            <tbody>
              {gate_results.map(({ gate_name, passed, detail }, at) => (
                <tr key={gate_name} class={passed ? '' : 'failed'}>
                  <td>
                    <span class={passed ? 'ok' : 'no'}>
                      <Icon name={passed ? 'tick' : 'close'} />
                    </span>
                    <span class="unseen">{passed ? 'passed' : 'failed'}</span>
                  </td>
                  <td>
                    <b>{gate_name}</b>
                  </td>
                  <td class="of">{ownerOf(trace[at])}</td>
                  <td class="saw">
                    <Rule entry={trace[at]} />
                  </td>
                  <td class="said">{passed ? detail : <b class="no">{detail}</b>}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      </div>
      {drawn === undefined ? null : <Drawing entry={drawn} context={story.context} />}
    </>
  )
}

function ownerOf(entry: GateTraceEntry | undefined): JSX.Element {
  const { policy_id, policy_version, mode } = entry?.metadata ?? {}
  if (policy_id === undefined) return <span class="quiet">built in</span>
  return (
    <>
      {plain(policy_id)} {plain(policy_version)}
      {mode === 'observe' ? <span class="quiet"> · observed</span> : null}
    </>
  )
}

function Rule({ entry }: { readonly entry: GateTraceEntry | undefined }): JSX.Element | null {
  if (entry === undefined) return null
  const text = ruleText(entry)
  return entry.inputs['path'] === undefined ? <>{text}</> : <span class="mono">{text}</span>
}

const typeOf = (gateType: string): string => gateType.replace(/\.v[0-9]+$/, '')
const isDrawn = (gateType: string): boolean =>
  ['max_value', 'min_value', 'allowlist', 'denylist', 'time_window'].includes(typeOf(gateType))

function Drawing({
  entry,
  context,
}: {
  readonly entry: GateTraceEntry
  readonly context: JsonObject
}): JSX.Element | null {
  const condition = objectOf(entry.inputs['condition'])
  const value = valueAt(context, plain(entry.inputs['path']))
  const type = typeOf(entry.gate_type)
  if (type === 'time_window') return <DayBar condition={condition} at={value} hasPassed={entry.result} />
  if (type === 'allowlist' || type === 'denylist') {
    const listed = condition[type === 'allowlist' ? 'allowed' : 'denied']
    return <ListedValues type={type} listed={Array.isArray(listed) ? listed : []} value={value} />
  }
  return <NumberLine condition={condition} value={value} hasPassed={entry.result} />
}

/** The value comes from the context, which operators may see. */
function valueAt(context: JsonObject, path: string): JsonValue | undefined {
  let value: JsonValue | undefined = context
  for (const name of path.split('.')) value = objectOf(value)[name]
  return value
}

const [LEFT, WIDTH] = [20, 600]

/** A line from 0 to beyond the larger of both numbers. */
function NumberLine(props: {
  readonly condition: JsonObject
  readonly value: JsonValue | undefined
  readonly hasPassed: boolean
}): JSX.Element | null {
  const { max, min } = props.condition
  const [limit, asked] = [Number(max ?? min), Number(props.value)]
  if (!Number.isFinite(limit) || !Number.isFinite(asked) || limit < 0 || asked < 0) return null
  const end = Math.max(limit, asked) * 1.25 || 1
  const x = (value: number): number => LEFT + (value / end) * WIDTH
  const word = max === undefined ? 'at least' : 'at most'
  const good = max === undefined ? [x(limit), LEFT + WIDTH] : [LEFT, x(limit)]
  const tone = props.hasPassed ? 'bar-good' : 'bar-bad'
  return (
    <svg class="meter" viewBox="0 0 640 46" role="img" aria-label={`asked ${asked}, ${word} ${limit}`}>
      <rect class="bar-line" x={LEFT} y="20" width={WIDTH} height="6" rx="3" />
      <rect class="bar-good" x={good[0]} y="20" width={(good[1] ?? 0) - (good[0] ?? 0)} height="6" rx="3" />
      {props.hasPassed ? null : (
        <rect
          class="bar-bad"
          x={Math.min(x(limit), x(asked))}
          y="20"
          width={Math.abs(x(asked) - x(limit))}
          height="6"
          rx="3"
        />
      )}
      <rect class={tone} x={x(asked) - 1.5} y="14" width="3" height="18" rx="1.5" />
      <text x={x(asked)} y="10" text-anchor="middle">
        asked: {asked}
      </text>
      <rect class="bar-ended" x={x(limit) - 1} y="14" width="2" height="18" />
      <text class="faint" x={x(limit)} y="44" text-anchor="middle">
        {word} {limit}
      </text>
      <text class="faint" x={LEFT} y="44">
        0
      </text>
    </svg>
  )
}

function ListedValues(props: {
  readonly type: 'allowlist' | 'denylist'
  readonly listed: readonly JsonValue[]
  readonly value: JsonValue | undefined
}): JSX.Element {
  const asked = valueText(props.value)
  const isListed = props.listed.some((each) => valueText(each) === asked)
  return (
    <p class="meter">
      {props.type === 'allowlist' ? 'Allowed: ' : 'Denied: '}
      {props.listed.slice(0, 20).map((each) => (
        <span class="tag" key={valueText(each)}>
          {valueText(each) === asked ? <b>{asked} (asked)</b> : valueText(each)}
        </span>
      ))}
      {props.listed.length > 20 ? `and ${props.listed.length - 20} more ` : ''}
      {isListed ? null : (
        <>
          · asked: <b>{asked}</b>, not in the list
        </>
      )}
    </p>
  )
}

/** The hours of a day in UTC, with the allowed ones and the time of the request. */
function DayBar(props: {
  readonly condition: JsonObject
  readonly at: JsonValue | undefined
  readonly hasPassed: boolean
}): JSX.Element | null {
  const [start, end] = [Number(props.condition['utc_hour_start'] ?? 0), Number(props.condition['utc_hour_end'] ?? 24)]
  const time = new Date(plain(props.at))
  if (Number.isNaN(time.getTime())) return null
  const hour = time.getUTCHours() + time.getUTCMinutes() / 60
  const x = (value: number): number => LEFT + (value / 24) * WIDTH
  const asked = time.toISOString().slice(11, 16)
  return (
    <svg class="meter" viewBox="0 0 640 46" role="img" aria-label={`asked at ${asked} UTC, allowed ${start} to ${end}`}>
      <rect class="bar-line" x={LEFT} y="20" width={WIDTH} height="6" rx="3" />
      <rect class="bar-good" x={x(start)} y="20" width={x(end) - x(start)} height="6" rx="3" />
      <rect class={props.hasPassed ? 'bar-good' : 'bar-bad'} x={x(hour) - 1.5} y="14" width="3" height="18" rx="1.5" />
      <text x={x(hour)} y="10" text-anchor="middle">
        asked: {asked} UTC
      </text>
      <text class="faint" x={x(start)} y="44">
        {start}:00
      </text>
      <text class="faint" x={x(end)} y="44" text-anchor="end">
        {end}:00
      </text>
    </svg>
  )
}
