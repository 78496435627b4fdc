import type { NodeSummary } from '@chancery/sdk/authority'
import { at, read } from '../../client.ts'
import { keyToPath, nodeHref } from '../../node-key.ts'
import type { Act } from '../../signing/act.ts'
import { undo } from '../../signing/undo.ts'

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
      // Code points, as the authority counts them.
      if ([...text].length > MOST_CHARACTERS) throw new Error(`A label has at most ${MOST_CHARACTERS} characters.`)
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
      const written = text === '' ? null : text
      return {
        toast: {
          text: text === '' ? 'Removed the label.' : `Named the node ${text}.`,
          undo: { text: 'Undo', run: () => void restoreLabel(node_public_key, written, label) },
        },
      }
    },
  }
}

/** Writes the earlier label, only while the node has the label that the act wrote. */
function restoreLabel(key: string, written: string | null, label: string | null): Promise<void> {
  return undo(
    async (change) => {
      const node = await read<Pick<NodeSummary, 'label'>>(at`/admin/nodes/${keyToPath(key)}`)
      if (node.label !== written) return 'The label was changed again. Nothing was undone.'
      await change(at`/admin/nodes/label`, { node_public_key: key, label })
      return label === null ? 'Removed the label again.' : `The node is named ${label} again.`
    },
    { href: nodeHref(key), text: 'Check the label' },
  )
}
