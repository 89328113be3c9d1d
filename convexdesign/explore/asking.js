// Questions to the server, and what to say when it answers no more.

export const STOPPED =
  '<p class="message trouble"><strong>Stopped:</strong> The explorer does not answer any more. Start it again with ' +
  "<code>convexdesign explore</code>, and open this address under its new port: nothing of what is set is lost.</p>";

export async function ask(path, question) {
  const answer = await fetch(path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(question),
  });
  if (!answer.ok) throw new Error(`the explorer answers with ${answer.status}`);
  return answer.json();
}
