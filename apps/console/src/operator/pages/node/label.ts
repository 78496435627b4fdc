import type { NodeSummary } from '@chancery/sdk'
import { at } from '../../client.ts'
import type { Act } from '../../signing/act.ts'

const MOST_CHARACTERS = 64

/** Names a node key for operators, or removes its name. */
export function labelAct({ node_public_key, label }: Pick<NodeSummary, 'node_public_key' | 'label'>): Act {
  return {
    name: 'label',
    title: label === null ? 'Name this node' : `Rename ${label}`,
    sentence: 'The label is for operators. It grants nothing and is in no signed record.',
    button: 'Sign and name it',
    fields: [
      {
        name: 'label',
        label: 'Label',
        kind: 'text',
        isOptional: true,
        initial: label ?? '',
        placeholder: 'Berlin 3',
        hint: `1 to ${MOST_CHARACTERS} characters. Empty removes the label.`,
      },
    ],
    requests(values) {
      const text = (values['label'] ?? '').trim()
      if (text.length > MOST_CHARACTERS) throw new Error(`A label has at most ${MOST_CHARACTERS} characters.`)
      return [{ target: at`/admin/nodes/label`, body: { node_public_key, label: text === '' ? null : text } }]
    },
    effects: (values) => {
      const text = (values['label'] ?? '').trim()
      return [
        {
          shape: 'tick',
          tone: 'good',
          text: text === '' ? 'The node has no label' : `Lists show the node as ${text}`,
          more: 'Certificates and the state of the node do not change.',
        },
      ]
    },
    done: (_answers, values) => {
      const text = (values['label'] ?? '').trim()
      return { toast: { text: text === '' ? 'Removed the label.' : `Named the node ${text}.` } }
    },
  }
}
