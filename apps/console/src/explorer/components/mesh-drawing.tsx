import type { Mesh, MeshLink, MeshNetwork } from '@chancery/contract'
import { visible } from '@chancery/protocol'
import type { JSX } from 'preact'
import { chooseFrame, drawLinks, isAbove, placeDomains, placeMembers } from './mesh-layout.ts'
import type { Frame, PlacedMember, Point } from './mesh-layout.ts'
import { useNarrow } from './use-narrow.ts'

const RETRY_MS = 7 * 86_400_000

export function toneOf({ expires_at }: MeshLink, nowMs: number): 'good' | 'watch' {
  return Date.parse(expires_at) - nowMs < RETRY_MS ? 'watch' : 'good'
}

export interface Condition {
  readonly tone: 'good' | 'watch' | 'bad'
  readonly mark: string
  readonly word: string
}

/** The symbol in the circle repeats the meaning of the colour. */
export function conditionOf({ available, trust_ready }: MeshNetwork): Condition {
  if (!available) return { tone: 'bad', mark: '×', word: 'does not respond' }
  if (!trust_ready) return { tone: 'watch', mark: '!', word: 'list not current' }
  return { tone: 'good', mark: '✓', word: 'responds' }
}

interface Props {
  readonly mesh: Mesh
  readonly chosen: string | undefined
  readonly choose: (id: string) => void
  readonly nowMs: number
}

/** Draws domains, their treaties as arrows and some of their members. Every domain can be selected by keyboard. */
export function MeshDrawing({ mesh, chosen, choose, nowMs }: Props): JSX.Element {
  const { networks, links, members } = mesh
  const frame = chooseFrame(networks.length, useNarrow())
  const points = placeDomains(networks.length, frame)
  const positions = new Map(networks.map(({ id }, i) => [id, points[i] ?? { x: 0, y: 0 }]))
  return (
    <svg viewBox={`0 0 ${frame.width} ${frame.height}`} role="group" aria-label="Domains and treaties">
      {drawLinks(links, positions, frame.radius).map(({ link, count, path, arrow }) => (
        <g
          key={`${link.from}\0${link.to}`}
          class={`edge edge-${toneOf(link, nowMs)} ${chosen === link.from || chosen === link.to ? 'edge-chosen' : ''}`}
        >
          <title>
            {link.from} recognises {link.to}
            {count > 1 ? ` (${count} treaties)` : ''}
          </title>
          <path d={path} />
          <polygon points={arrow} />
        </g>
      ))}
      {networks.map(({ id }) => {
        const at = positions.get(id) ?? { x: 0, y: 0 }
        const own = members.filter(({ network }) => network === id)
        return <Members key={id} at={at} placed={placeMembers(own, at, frame)} hasNames={frame.hasMemberNames} />
      })}
      {networks.map((network) => (
        <Domain
          key={network.id}
          network={network}
          at={positions.get(network.id) ?? { x: 0, y: 0 }}
          frame={frame}
          members={members.filter((member) => member.network === network.id).length}
          isChosen={chosen === network.id}
          choose={() => choose(network.id)}
        />
      ))}
    </svg>
  )
}

/** Hidden from screen readers: the list of the selected domain contains all members. */
function Members(props: {
  readonly at: Point
  readonly placed: readonly PlacedMember[]
  readonly hasNames: boolean
}): JSX.Element {
  const { at, placed, hasNames } = props
  return (
    <g class="member" aria-hidden="true">
      {placed.map(({ member, at: spot }) => (
        <g key={member.id}>
          <line x1={at.x} y1={at.y} x2={spot.x} y2={spot.y} />
          <circle cx={spot.x} cy={spot.y} r={5} />
          {hasNames ? (
            <text
              x={spot.x + (spot.x < at.x ? -9 : 9)}
              y={spot.y + 4}
              class={spot.x < at.x ? 'ends-here' : 'begins-here'}
            >
              {cut(member.subject, 18)}
            </text>
          ) : null}
        </g>
      ))}
    </g>
  )
}

function Domain(props: {
  readonly network: MeshNetwork
  readonly at: Point
  readonly frame: Frame
  readonly members: number
  readonly isChosen: boolean
  readonly choose: () => void
}): JSX.Element {
  const { network, at, frame, members, isChosen } = props
  const { tone, mark, word } = conditionOf(network)
  const onKey = (event: KeyboardEvent): void => {
    if (event.key !== 'Enter' && event.key !== ' ') return
    event.preventDefault()
    props.choose()
  }
  const count = members === 1 ? '1 member' : `${members} members`
  // SVG attributes are case-sensitive: `tabIndex` would have no effect.
  return (
    <g
      class={`domain domain-${tone} ${isChosen ? 'domain-chosen' : ''}`}
      data-domain={network.id}
      role="button"
      tabindex={0}
      aria-pressed={isChosen}
      aria-label={`${network.id}, ${word}, ${count}`}
      onClick={props.choose}
      onKeyDown={onKey}
    >
      <circle class="ring" cx={at.x} cy={at.y} r={frame.radius + 5} />
      <circle class="disc" cx={at.x} cy={at.y} r={frame.radius} />
      <text class="mark" x={at.x} y={at.y + 6} aria-hidden="true">
        {mark}
      </text>
      <text
        class="name"
        x={at.x}
        y={isAbove(at, frame) ? at.y - frame.radius - 14 : at.y + frame.radius + 24}
        aria-hidden="true"
      >
        {cut(network.id, frame.letters)}
      </text>
    </g>
  )
}

/** Cuts what is shown: an escape of an invisible character is six letters wide. */
function cut(text: string, letters: number): string {
  const units = [...visible(text)]
  return units.length > letters ? `${units.slice(0, letters - 1).join('')}…` : units.join('')
}
